"""Training texts from any source: one module per kind, found by its file name.

The package `components` has the code that several kinds share.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from ease.entities.hashing import as_int64, draw
from ease.errors import EaseError
from ease.lazy import ibis, ir
from ease.names import module_names, named_module
from ease.options import validate
from ease.texts.components.sources import COLUMNS, SourceOptions, Workspace

logger = logging.getLogger(__name__)


def kind_names() -> list[str]:
    """Return the sorted names of all kinds."""
    return module_names(__path__)


def get_kind(name: str) -> ModuleType:
    """Return the module of a kind, with its `Options` and `read(options, workspace, seed)`, a `Source`."""
    return named_module(__name__, name, kind_names(), "kind of texts in `data`")


def source_options(values: Mapping[str, Any]) -> SourceOptions:
    """Return the validated options of one entry of a recipe's `data`."""
    if "kind" not in values:
        raise EaseError(f"A source in `data` has no `kind`: choose from {', '.join(kind_names())}.")
    kind = str(values["kind"])
    options: type[SourceOptions] = get_kind(kind).Options
    known = ", ".join(options.model_fields)
    return validate(options, values, f"`data` of kind {kind!r}, whose parameters are {known}")


def gather_texts(
    sources: Sequence[SourceOptions], workspace: Workspace, seed: int, rows: int | None = None
) -> tuple[ir.Table, list[dict[str, Any]]]:
    """Read the sources and mix `rows` of their texts, or the maximum number that the weights allow.

    The seed determines the drawn rows, languages and pairs, for any number of threads.

    Returns:
        The texts: pair_id (0 to n - 1), sentence, positive, negative (both may be null), ordered by pair_id; and for
        each source its kind, place, counts of read and dropped rows, and the rows taken.
    """
    if not sources:
        raise EaseError("`data` names no source of training texts: give at least one.")
    tables: list[ir.Table] = []
    report: list[dict[str, Any]] = []
    for number, options in enumerate(sources):
        source = get_kind(options.kind).read(options, workspace, seed)
        tables.append(source.table.mutate(ticket=draw(seed, ibis.literal(number), source.table.key)))
        available = int(source.table.count().execute())
        places = " and ".join(map(str, options.places))
        if available < (options.rows or 1):
            wanted = f"`rows` asks for {options.rows}, but " if options.rows else ""
            counted = ", ".join(f"{name} {count}" for name, count in source.counts.items())
            raise EaseError(
                f"Training texts of kind {options.kind!r} ({places or 'of the setting'}): {wanted}{available} are left "
                f"({counted})."
            )
        report.append({"kind": options.kind, "place": places, **source.counts, "available": available})
    quotas = _quotas(sources, [line["available"] for line in report], rows)
    parts = []
    for number, (table, quota, line) in enumerate(zip(tables, quotas, report, strict=True)):
        if quota < line["available"]:  # otherwise they need not be sorted
            table = table.order_by([table.ticket, table.key]).limit(quota)
        texts = {name: table[name] if name in table.columns else ibis.null("string") for name in COLUMNS}
        parts.append(table.select(source=ibis.literal(number), key=as_int64(table.key), **texts))
        line["taken"] = quota
        counts = (f"{name.replace('_', ' ')} {value}" for name, value in line.items() if value != "")
        logger.info("Training texts: %s", ", ".join(counts))
    mixed = ibis.union(*parts)
    pair_id = as_int64(ibis.row_number().over(order_by=[mixed.source, mixed.key]))
    return mixed.select(*COLUMNS, pair_id=pair_id).relocate("pair_id").order_by("pair_id"), report


def _quotas(sources: Sequence[SourceOptions], available: Sequence[int], rows: int | None) -> list[int]:
    """Return the number of rows to draw from each source."""
    sizes = [options.rows or count for options, count in zip(sources, available, strict=True)]
    weighted = [options.weight for options in sources if options.weight is not None]
    if weighted and len(weighted) < len(sources):
        raise EaseError("Some sources in `data` have a `weight` and others none: set it for all or for none.")
    weights, most = [float(size) for size in sizes], sum(sizes)
    if weighted:
        weights, total = weighted, sum(weighted)
        # Rounding may leave a quotient just below the integer that it should be.
        most = min(int(size * total / weight + 1e-9) for size, weight in zip(sizes, weights, strict=True))
    if rows is not None and rows > most:
        raise EaseError(
            f"`rows` asks for {rows} training texts, but the sources in `data`, which have "
            f"{', '.join(map(str, sizes))}, give {most} at their weights: lower `rows`, or change the weights."
        )
    rows = rows or most
    # By the largest remainder
    exact = [rows * weight / sum(weights) for weight in weights]
    quotas = [min(int(share + 1e-9), size) for share, size in zip(exact, sizes, strict=True)]
    by_remainder = sorted(range(len(exact)), key=lambda number: (quotas[number] - exact[number], number))
    for number in by_remainder[: rows - sum(quotas)]:
        quotas[number] += 1
    return quotas
