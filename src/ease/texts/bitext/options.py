"""Options of mining. Does not import torch."""

from __future__ import annotations

from pydantic import Field

from ease.io.models import StrictModel


class MiningOptions(StrictModel):
    """Which candidates count as parallel."""

    neighbours: int = Field(
        4, ge=1, description="nearest candidates of a sentence that its margin compares with"
    )
    min_score: float = Field(
        1.5, ge=0, description="lowest margin: the cosine over the mean cosine with the nearest candidates"
    )
