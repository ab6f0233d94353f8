"""What the tables of sentences, links and pairs share: the key of a sentence, and the check of limits."""

from __future__ import annotations

from ease.errors import EaseError
from ease.io.models import StrictModel

SENTENCE_KEY = ("language", "page_id", "sentence_index")
"""Columns that identify a sentence"""


def check_limits(options: StrictModel, *quantities: str) -> None:
    """Refuse options whose lower limit of a quantity, such as `min_characters`, is above its upper limit.

    Raises:
        EaseError: With both limits.
    """
    for quantity in quantities:
        least, most = (getattr(options, f"{side}_{quantity}") for side in ("min", "max"))
        if least > most:
            raise EaseError(
                f"`min_{quantity}` ({least}) exceeds `max_{quantity}` ({most}): lower the first or raise the second."
            )
