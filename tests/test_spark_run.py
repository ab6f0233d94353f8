"""The pipelines of tables give the same rows on Spark as on DuckDB."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow.dataset as pads
import pytest

from tests.project import Project

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TABLES = {
    "02_intermediate": ("sentences", "redirects", "sitelinks", "entity_types", "links.parquet"),
    "03_primary": ("entity_vocabulary.parquet", "pairs.parquet"),
    "05_model_input": ("training_pairs.parquet",),
    "08_reporting": ("pair_funnel.parquet",),
}

SPARK = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    # Tables of a few rows: compiling a query costs more than running it.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


@pytest.fixture(scope="module")
def on_spark(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the project in which the pipelines of tables have run again, on Spark."""
    copy = project.copy(tmp_path_factory.mktemp("spark") / "copy")
    shutil.rmtree(copy.folder / "data" / "02_intermediate" / "parts")
    options = " ".join(f"--conf {name}={value}" for name, value in SPARK.items())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", f"--master local[1] {options} pyspark-shell")
        copy.run("ingest,entity_pairs,hard_negatives", start=True, engine="spark")
    return copy


def rows(table: Path) -> list[dict[str, Any]]:
    """The rows of a Parquet file or folder, in an order that does not depend on the engine."""
    files = [str(table)] if table.is_file() else sorted(map(str, table.glob("*.parquet")))
    return sorted(pads.dataset(files).to_table().to_pylist(), key=repr)


@pytest.mark.parametrize(
    "path", [f"{layer}/multilingual/{name}" for layer in TABLES for name in TABLES[layer]]
)
def test_spark_gives_duckdbs_rows(on_spark: Project, path: str) -> None:
    duckdb, spark = on_spark.versions(path)
    found = rows(spark)
    assert found
    assert found == rows(duckdb)
    if path.endswith(".parquet"):
        assert spark.is_dir(), "Spark wrote it"
        assert duckdb.is_file()
