"""The engine: what computes the tables and parses the dumps, this machine with DuckDB or a Spark cluster."""

from __future__ import annotations

from ease.errors import EaseError
from ease.wikimedia.dumps.mapping import MapShards, spark_map

ENGINES = ("duckdb", "spark")


def check_engine(engine: str) -> None:
    """Refuse an engine that the catalog has no connection for.

    Raises:
        EaseError: Naming those that it has.
    """
    if engine not in ENGINES:
        raise EaseError(f"Unknown `engine` {engine!r}: choose {' or '.join(ENGINES)}.")


def shard_map(engine: str) -> MapShards | None:
    """Return where shards are parsed: on the Spark cluster, or None for processes of this machine."""
    check_engine(engine)
    if engine == "duckdb":
        return None
    from pyspark.sql import SparkSession

    return spark_map(SparkSession.builder.getOrCreate().sparkContext)
