"""64-bit integers on every engine."""

from __future__ import annotations

from ease.io.lazy import ir


def as_int64(value: ir.NumericValue) -> ir.IntegerValue:
    """Cast an integer to 64 bits on every engine.

    DuckDB sums into 128 bits, which Parquet stores as floating point; Spark numbers rows with 32 bits. Ibis believes
    that both have 64 bits and omits a plain cast, so this function casts through another type.
    """
    return value.cast("decimal(18, 0)").cast("int64")
