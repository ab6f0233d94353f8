"""What the tables of sentences, links and pairs share: the key of a sentence, and limits of its length."""

from __future__ import annotations

from ease.errors import EaseError

SENTENCE_KEY = ("language", "page_id", "sentence_index")
"""Columns that identify a sentence"""


def check_lengths(min_characters: int, max_characters: int) -> None:
    """Refuse a lower limit above the upper one.

    Raises:
        EaseError: With both limits.
    """
    if min_characters > max_characters:
        raise EaseError(
            f"`min_characters` ({min_characters}) exceeds `max_characters` ({max_characters}): lower the first or "
            "raise the second."
        )
