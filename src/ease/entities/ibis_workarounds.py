"""What Ibis does not do by itself: 64-bit integers on every engine, and joins of joins."""

from __future__ import annotations

from ease.io.lazy import ir


def as_int64(value: ir.NumericValue) -> ir.IntegerValue:
    """Cast an integer to 64 bits on every engine.

    DuckDB sums into 128 bits, which Parquet stores as floating point; Spark numbers rows with 32 bits. Ibis believes
    that both have 64 bits and omits a plain cast, so this function casts through another type.
    """
    return value.cast("decimal(18, 0)").cast("int64")


def as_table(joined: ir.Table) -> ir.Table:
    """Return a join as a new table: Ibis cannot join again on a column that a join has computed."""
    return joined.mutate()
