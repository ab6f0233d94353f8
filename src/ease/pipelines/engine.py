"""The engine that computes tables and parses dumps: DuckDB on this machine, or a Spark cluster."""

from __future__ import annotations

from ease.errors import EaseError
from ease.wikimedia.dumps.mapping import MapShards, spark_map

ENGINES = ("duckdb", "spark")


def check_engine(engine: str) -> None:
    """Refuse an engine without a connection in the catalog.

    Raises:
        EaseError: With the known engines.
    """
    if engine not in ENGINES:
        raise EaseError(f"Unknown `engine` {engine!r}: choose {' or '.join(ENGINES)}.")


def shard_map(engine: str) -> MapShards | None:
    """Return the function that parses shards on the Spark cluster, or None to parse them in local processes."""
    check_engine(engine)
    if engine == "duckdb":
        return None
    from pyspark.sql import SparkSession

    return spark_map(SparkSession.builder.getOrCreate().sparkContext)
