"""Options of `plan`."""

from __future__ import annotations

from pydantic import Field

from ease.io.models import StrictModel


class PlanOptions(StrictModel):
    """The job to plan, and how long to measure."""

    of: str = Field(description="the job to plan")
    seconds: float = Field(
        5.0, gt=0, description="seconds of parsing, and of training, from which the rates are measured"
    )
