"""Table pipelines return the same rows on a Spark cluster as on DuckDB."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project import Project, rows
from tests.spark import standing_cluster, submit_arguments

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.slow]

TABLES = {
    "02_intermediate": ("sentences", "redirects", "sitelinks", "entity_types", "links.parquet"),
    "03_primary": ("entity_vocabulary.parquet", "pairs.parquet"),
    "05_model_input": ("training_pairs.parquet",),
    "08_reporting": ("pair_funnel.parquet",),
}


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Working folder of a cluster with two workers, used by commands with `engine=spark`."""
    folder = tmp_path_factory.mktemp("workers")
    with pytest.MonkeyPatch.context() as patch, standing_cluster(folder) as address:
        patch.setenv("PYSPARK_SUBMIT_ARGS", submit_arguments(address))
        yield folder


@pytest.fixture(scope="module")
def on_spark(project: Project, workers: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the project in which the table pipelines have run again, on Spark."""
    copy = project.copy(tmp_path_factory.mktemp("spark") / "copy")
    shutil.rmtree(copy.folder / "data" / "02_intermediate" / "parts")
    copy.run("ingest,entity_pairs,hard_negatives", start=True, engine="spark")
    return copy


@pytest.mark.parametrize("path", [f"{layer}/multilingual/{name}" for layer in TABLES for name in TABLES[layer]])
def test_spark_rows_equal_duckdb_rows(on_spark: Project, path: str) -> None:
    duckdb, spark = on_spark.versions(path)[:2]
    found = rows(spark)
    assert found
    assert found == rows(duckdb)
    if path.endswith(".parquet"):
        assert spark.is_dir(), "not written by Spark"
        assert duckdb.is_file()


def test_each_worker_ran_an_executor(on_spark: Project, workers: Path) -> None:
    assert {len(list(run.glob("*/stderr"))) for run in workers.glob("app-*")} == {2}


def test_page_props_on_spark_give_the_rows_of_the_json_dump(on_spark: Project) -> None:
    """Sitelinks come from page_props joined by Spark, types from truthy statements; `project` read the JSON dump."""
    short = {"acquire__wikidata_titles": "page_props", "acquire__wikidata_types": "truthy"}
    given = ("acquire,ingest", "--to-nodes=multilingual.ingest.read_wikidata")
    on_spark.run(*given, start=True, engine="spark", **short)
    assert (on_spark.folder / "data" / "02_intermediate" / "parts" / "page_props").is_dir()
    for name in ("sitelinks", "entity_types"):
        by_json, *_, by_page_props = on_spark.versions(f"02_intermediate/multilingual/{name}")
        found = rows(by_page_props)
        assert len(found) > 300
        assert found == rows(by_json)
