"""Pairs of texts at random; draws are integer hashes of the seed and the rows' keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ease.entities.hashing import draw
from ease.io.lazy import ibis

if TYPE_CHECKING:
    import ibis.expr.types as ir


def random_pairs(table: ir.Table, seed: int, draws: tuple[int, int], within: Sequence[str] = ()) -> ir.Table:
    """Join two random orders of the rows; a row that meets itself is dropped.

    Args:
        table: Columns key, sentence and positive.
        seed: Seed of the orders.
        draws: Identifiers of the two draws.
        within: Columns in which both rows of a pair are equal.

    Returns:
        Columns key, sentence and positive: the sentence of one row and the positive of another.
    """
    left, right = (
        ibis.row_number().over(
            group_by=[table[name] for name in within],
            order_by=[draw(seed, table.key, ibis.literal(number)), table.key],
        )
        for number in draws
    )
    placed = table.mutate(left=left, right=right)
    sentences = placed.select(*within, "key", "sentence", place="left")
    positives = placed.select(*within, other="key", positive="positive", place="right")
    paired = sentences.inner_join(positives, [*within, "place"])
    return paired.filter(paired.key != paired.other).select("key", "sentence", "positive")
