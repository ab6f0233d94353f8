"""The engine that computes tables and parses dumps: DuckDB on this machine, or a Spark cluster."""

from __future__ import annotations

from typing import Any

from ease.errors import EaseError
from ease.wikimedia.dumps.parts import MapShards, spark_map

ENGINES = ("duckdb", "spark")


def check_engine(engine: Any) -> str:
    """Return the name of an engine, by default the first, if the catalog has a connection to it.

    Raises:
        EaseError: With the known engines.
    """
    if engine is None:
        return ENGINES[0]
    if engine not in ENGINES:
        raise EaseError(f"Unknown `engine` {engine!r}: choose {' or '.join(ENGINES)}.")
    return str(engine)


def shard_map(engine: str) -> MapShards | None:
    """Return the function that parses shards on the Spark cluster, or None to parse them in local processes."""
    check_engine(engine)
    if engine == "duckdb":
        return None
    from pyspark.sql import SparkSession

    return spark_map(SparkSession.builder.getOrCreate().sparkContext)
