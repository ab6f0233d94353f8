"""What the tables of sentences, links and pairs share: key of a sentence, distinct sentences, check of limits."""

from __future__ import annotations

from collections.abc import Iterator

from ease.entities.hashing import draw, hash_text
from ease.errors import EaseError
from ease.io.lazy import ir
from ease.io.models import StrictModel

SENTENCE_KEY = ("language", "page_id", "sentence_index")
"""Columns that identify a sentence"""

_STREAMED = 8192
"""Sentences in memory at a time"""


def distinct_sentences(pairs: ir.Table, rows: int | None, seed: int) -> Iterator[str]:
    """Yield at most `rows` distinct sentences in an order that depends only on the seed and the sentences."""
    sentences = pairs.select("sentence").distinct()
    drawn = sentences.order_by([draw(seed, hash_text(sentences.sentence)), sentences.sentence])
    if rows is not None:
        drawn = drawn.limit(rows)
    for batch in drawn.to_pyarrow_batches(chunk_size=_STREAMED):
        yield from batch.column("sentence").to_pylist()


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
