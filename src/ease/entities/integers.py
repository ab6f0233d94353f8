"""Integers of the width that the tables promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ibis.expr.types as ir


def as_int64(value: ir.NumericValue) -> ir.IntegerValue:
    """Cast an integer to 64 bits, whatever the engine made it.

    DuckDB sums into 128 bits, which it writes to Parquet as floating point, and Spark numbers rows by 32
    bits. Ibis takes both for 64 bits and leaves a plain cast out, so this goes by way of another type.
    """
    return value.cast("decimal(18, 0)").cast("int64")
