"""Mixture of sources: rows are drawn without replacement, in proportion to the sources' weights."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from ease.entities.hashing import draw
from ease.entities.ibis_workarounds import as_int64
from ease.errors import EaseError
from ease.io.lazy import ibis
from ease.texts.components.options import COLUMNS, Source, SourceOptions
from ease.texts.components.workspace import Workspace

if TYPE_CHECKING:
    import ibis.expr.types as ir

logger = logging.getLogger(__name__)


Read = Callable[[SourceOptions, Workspace, int], Source]
"""Reads a source with a seed."""


class Gathered(NamedTuple):
    """The texts of all sources, and a report of each source."""

    table: ir.Table
    """Columns pair_id (0 to n - 1), sentence, positive, negative (both may be null), ordered by pair_id"""
    report: list[dict[str, Any]]
    """For each source its kind, place, counts of read and dropped rows, and the rows taken"""


def gather(
    readers: Sequence[tuple[SourceOptions, Read]], workspace: Workspace, seed: int, rows: int | None
) -> Gathered:
    """Read the sources and mix them, ordered by source and key.

    Raises:
        EaseError: If there is no source, or a source has fewer texts than are to be drawn.
    """
    if not readers:
        raise EaseError("`data` names no source of training texts: give at least one.")
    tables: list[ir.Table] = []
    report: list[dict[str, Any]] = []
    for number, (options, read) in enumerate(readers):
        source = read(options, workspace, seed)
        table = source.table.mutate(ticket=draw(seed, ibis.literal(number), source.table.key))
        available = int(table.count().execute())
        _check_available(options, available, source.counts)
        tables.append(table)
        places = " and ".join(map(str, options.places))
        report.append({"kind": options.kind, "place": places, **source.counts, "available": available})
    quotas = _quotas([options for options, _ in readers], [line["available"] for line in report], rows)
    parts = []
    for number, (table, quota, line) in enumerate(zip(tables, quotas, report, strict=True)):
        # If all rows are taken, they need not be sorted by ticket.
        parts.append(
            _with_all_columns(table if quota == line["available"] else _lowest(table, quota), number)
        )
        line["taken"] = quota
        counted = ", ".join(
            f"{name.replace('_', ' ')} {value}" for name, value in line.items() if value != ""
        )
        logger.info("Training texts: %s", counted)
    mixed = reduce(lambda left, right: left.union(right), parts)
    pair_id = as_int64(ibis.row_number().over(order_by=[mixed.source, mixed.key]))
    return Gathered(mixed.select(*COLUMNS, pair_id=pair_id).relocate("pair_id").order_by("pair_id"), report)


def _check_available(options: SourceOptions, available: int, counts: Mapping[str, int]) -> None:
    place = " and ".join(map(str, options.places)) or "the setting's own"
    counted = ", ".join(f"{name} {count}" for name, count in counts.items())
    if not available:
        raise EaseError(f"Training texts of kind {options.kind!r} ({place}): none is left ({counted}).")
    if options.rows and available < options.rows:
        raise EaseError(
            f"Training texts of kind {options.kind!r} ({place}): `rows` asks for {options.rows}, but there are "
            f"{available} ({counted}): lower it, or set it to null for all."
        )


def _quotas(sources: Sequence[SourceOptions], available: Sequence[int], rows: int | None) -> list[int]:
    """Return the number of rows to draw from each source.

    Raises:
        EaseError: If only some sources have a weight, or the sources have fewer rows than `rows`.
    """
    sizes = [options.rows or count for options, count in zip(sources, available, strict=True)]
    weighted = [options.weight for options in sources if options.weight is not None]
    if weighted and len(weighted) < len(sources):
        raise EaseError("Some sources in `data` have a `weight` and others none: set it for all or for none.")
    weights = weighted or [float(size) for size in sizes]
    total = sum(weights)
    # Rounding may leave a quotient just below the integer that it should be.
    most = min(int(size * total / weight + 1e-9) for size, weight in zip(sizes, weights, strict=True))
    if not weighted:
        most = sum(sizes)
    if rows is not None and rows > most:
        raise EaseError(
            f"`rows` asks for {rows} training texts, but the sources in `data`, which have "
            f"{', '.join(map(str, sizes))}, give {most} at their weights: lower `rows`, or change the weights."
        )
    return _apportion(rows or most, weights, sizes)


def _apportion(rows: int, weights: Sequence[float], sizes: Sequence[int]) -> list[int]:
    """Apportion rows to sources by the largest remainder."""
    exact = [rows * weight / sum(weights) for weight in weights]
    quotas = [min(int(share + 1e-9), size) for share, size in zip(exact, sizes, strict=True)]
    by_remainder = sorted(range(len(exact)), key=lambda number: (quotas[number] - exact[number], number))
    for number in by_remainder[: rows - sum(quotas)]:
        quotas[number] += 1
    return quotas


def _lowest(table: ir.Table, rows: int) -> ir.Table:
    """Return the rows with the lowest tickets."""
    return table.order_by([table.ticket, table.key]).limit(rows)


def _with_all_columns(table: ir.Table, number: int) -> ir.Table:
    """Add the missing text columns to a source's table, as nulls."""
    texts = {name: table[name] if name in table.columns else ibis.null("string") for name in COLUMNS}
    return table.select(source=ibis.literal(number), key=as_int64(table.key), **texts)
