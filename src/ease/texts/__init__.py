"""Training texts from any source: one module per kind, found by its file name.

The package `components` has the code that several kinds share.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from ease.entities.hashing import as_int64, draw
from ease.errors import EaseError
from ease.lazy import ibis, ir
from ease.names import check_name, module_names
from ease.options import validate
from ease.texts.components.sources import TEXT_COLUMNS, SourceOptions, Workspace

logger = logging.getLogger(__name__)


def kind_names() -> list[str]:
    """Return the sorted names of all kinds."""
    return module_names(__path__)


def get_kind(name: str) -> type[SourceOptions]:
    """Return the class of a kind: the subclass of `SourceOptions` that its module defines."""
    check_name(name, kind_names(), "kind of texts in `data`")
    module = import_module(f"{__name__}.{name}")
    (kind,) = (
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, SourceOptions) and value.__module__ == module.__name__
    )
    return kind


def source_options(values: Mapping[str, Any]) -> SourceOptions:
    """Return the validated options of one entry of a recipe's `data`."""
    if "kind" not in values:
        raise EaseError(f"A source in `data` has no `kind`: choose from {', '.join(kind_names())}.")
    name = str(values["kind"])
    kind = get_kind(name)
    parameters = ", ".join(kind.model_fields)
    return validate(kind, values, f"`data` of kind {name!r}, whose parameters are {parameters}")


def gather_texts(
    sources: Sequence[SourceOptions], workspace: Workspace, seed: int, rows: int | None = None
) -> tuple[ir.Table, list[dict[str, Any]]]:
    """Read the sources and mix `rows` of their texts, or the maximum number that the weights allow.

    The seed determines the drawn rows, languages and pairs, for any number of threads.

    Returns:
        The texts: pair_id (0 to n - 1), sentence, positive, negative (both may be null), ordered by pair_id; and for
        each source its kind, place, counts of read and dropped rows, and the number of rows in the mixture (`taken`).

    Raises:
        EaseError: If a source cannot be read, or has fewer rows than it or the mixture needs.
    """
    if not sources:
        raise EaseError("`data` names no source of training texts: give at least one.")
    tables: list[ir.Table] = []
    report: list[dict[str, Any]] = []
    for number, options in enumerate(sources):
        source = options.read(workspace, seed)
        tables.append(source.table.mutate(ticket=draw(seed, ibis.literal(number), source.table.key)))
        available = int(source.table.count().execute())
        _check_rows_left(options, available, source.counts)
        places = " and ".join(map(str, options.places))
        report.append({"kind": options.kind, "place": places, **source.counts, "available": available})
    quotas = _quotas(sources, [line["available"] for line in report], rows)
    parts = []
    for number, (table, quota, line) in enumerate(zip(tables, quotas, report, strict=True)):
        # A source that is used up needs no draw, and so no sort.
        if quota < line["available"]:
            table = table.order_by([table.ticket, table.key]).limit(quota)
        for name in TEXT_COLUMNS:
            if name not in table.columns:
                table = table.mutate(**{name: ibis.null("string")})
        parts.append(table.select(*TEXT_COLUMNS, source=ibis.literal(number), key=as_int64(table.key)))
        line["taken"] = quota
        counts = (f"{name.replace('_', ' ')} {value}" for name, value in line.items() if value != "")
        logger.info("Training texts: %s", ", ".join(counts))
    mixture = ibis.union(*parts)
    pair_id = as_int64(ibis.row_number().over(order_by=[mixture.source, mixture.key]))
    return mixture.select(*TEXT_COLUMNS, pair_id=pair_id).relocate("pair_id").order_by("pair_id"), report


def _check_rows_left(options: SourceOptions, available: int, counts: Mapping[str, int]) -> None:
    """Raise EaseError if a source has no row, or fewer rows than its `rows`."""
    if available >= (options.rows or 1):
        return
    request = ""
    if options.rows:
        request = f"`rows` asks for {options.rows}, but "
    places = " and ".join(map(str, options.places)) or "of the setting"
    reasons = ", ".join(f"{name} {count}" for name, count in counts.items())
    raise EaseError(f"Training texts of kind {options.kind!r} ({places}): {request}{available} are left ({reasons}).")


def _quotas(sources: Sequence[SourceOptions], available: Sequence[int], rows: int | None) -> list[int]:
    """Return the number of rows to draw from each source."""
    sizes = [options.rows or count for options, count in zip(sources, available, strict=True)]
    weights = [options.weight for options in sources if options.weight is not None]
    if weights and len(weights) < len(sources):
        raise EaseError("Some sources in `data` have a `weight` and others none: set it for all or for none.")
    if weights:
        # Rounding may leave a quotient just below the integer that it should be.
        limits = [int(size * sum(weights) / weight + 1e-9) for size, weight in zip(sizes, weights, strict=True)]
        # Without replacement, the scarcest source limits the mixture.
        largest = min(limits)
    else:
        weights = [float(size) for size in sizes]
        largest = sum(sizes)
    if rows is not None and rows > largest:
        raise EaseError(
            f"`rows` asks for {rows} training texts, but the sources in `data`, which have "
            f"{', '.join(map(str, sizes))}, give {largest} at their weights: lower `rows`, or change the weights."
        )
    rows = rows or largest
    # Shares are rounded down; the rows that remain go to the largest remainders, so that the sum is `rows`.
    shares = [rows * weight / sum(weights) for weight in weights]
    quotas = [min(int(share + 1e-9), size) for share, size in zip(shares, sizes, strict=True)]
    by_remainder = sorted(range(len(shares)), key=lambda number: (quotas[number] - shares[number], number))
    for number in by_remainder[: rows - sum(quotas)]:
        quotas[number] += 1
    return quotas
