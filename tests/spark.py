"""One local Spark for the tests of all folders: a process has one session, and who stops it stops everybody's."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session", name="spark")
def spark_session() -> Iterator[Any]:
    """A session of one thread that runs a lost task again, as a cluster does; stopped after the last test."""
    sql = pytest.importorskip("pyspark.sql", reason="the extra `spark` is not installed")
    if not (shutil.which("java") or "JAVA_HOME" in os.environ):
        pytest.skip("Spark needs a Java runtime: scripts/system_packages.sh java")
    session = (
        sql.SparkSession.builder.master("local[1,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        # Tables of a few rows: compiling a query costs more than running it.
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
