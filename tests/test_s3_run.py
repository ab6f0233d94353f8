"""The pipelines of tables give the same rows with dumps, parts and tables in a bucket as in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kedro.io import Version

from ease.datasets.tables import PartsDataset, TableDataset
from tests.project import Project, make_project, rows
from tests.s3 import Bucket, make_bucket, start_s3_server
from tests.spark import submit_arguments

__all__ = ["make_bucket", "start_s3_server"]

pytestmark = [pytest.mark.long, pytest.mark.slow]

PATHS = [
    *(f"02_intermediate/multilingual/{name}" for name in ("sentences", "redirects", "sitelinks", "links.parquet")),
    "03_primary/multilingual/entity_vocabulary.parquet",
    "03_primary/multilingual/pairs.parquet",
    "05_model_input/multilingual/training_pairs.parquet",
]
DUCKDB = {"backend": "duckdb", "database": ":memory:"}
SETTING = "--namespaces=multilingual"
PIPELINES = "acquire,ingest,entity_pairs,hard_negatives"


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project in which the pipelines have run on local files."""
    made = make_project(tmp_path_factory.mktemp("local"))
    made.run(PIPELINES, SETTING, start=True)
    return made


def in_bucket(local: Project, bucket: Bucket, folder: Path) -> tuple[Project, dict[str, str]]:
    """A new project, and parameters that name the dumps of `project`, uploaded to the bucket."""
    dumps = local.json("01_raw/multilingual/dumps.json")
    wikipedia = local.folder / Path(dumps["wikipedia"][0]["path"]).parent
    wikidata = local.folder / dumps["wikidata"]
    sources = {
        "acquire__wikipedia": bucket.put(wikipedia, "dumps"),
        "acquire__wikidata": bucket.put(wikidata, f"wikidata/{wikidata.name}"),
    }
    folder.mkdir()
    return make_project(folder), sources


def remote_rows(bucket: Bucket, path: str) -> list[dict[str, Any]]:
    kind = TableDataset if path.endswith(".parquet") else PartsDataset
    dataset = kind(filepath=f"{bucket.address}/tables/{path}", connection=DUCKDB, version=Version(None, None))
    return sorted(dataset.load().to_pyarrow().to_pylist(), key=repr)


def test_a_bucket_gives_the_rows_of_a_folder(local: Project, bucket: Bucket, tmp_path: Path) -> None:
    remote, sources = in_bucket(local, bucket, tmp_path / "project")
    globals_file = remote.folder / "conf" / "local" / "globals.yml"
    globals_file.write_text(f"tables: {bucket.address}/tables\n", encoding="utf-8")
    remote.run(PIPELINES, SETTING, start=True, **sources)
    for path in PATHS:
        found = remote_rows(bucket, path)
        assert found
        assert found == rows(local.latest(path)), path
    kept = [path for path in (remote.folder / "data").rglob("*.parquet")]
    assert kept == [], "tables and parts lie in the bucket alone"
    counts = bucket.keys("tables/02_intermediate/parts")
    (key,) = (key for key in bucket.keys(f"tables/{PATHS[5]}") if key.endswith("/provenance.json"))
    sidecar = json.loads(bucket.files.cat_file(f"{bucket.name}/{key}"))
    assert set(sidecar["inputs"]) > {"multilingual.links"}
    again = remote.run(PIPELINES, SETTING, "--only-missing-outputs", start=True, **sources)
    assert "parsing dumps" not in again.stderr
    assert bucket.keys("tables/02_intermediate/parts") == counts


@pytest.mark.spark
def test_spark_tasks_read_dumps_from_a_bucket_and_upload_parts(
    local: Project, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables are in a folder here, because Spark's S3 connector is not part of its package."""
    remote, sources = in_bucket(local, bucket, tmp_path / "project")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", submit_arguments("local[2]"))
    parts = {"ingest__parts": f"{bucket.address}/parts"}
    remote.run("acquire,ingest", SETTING, start=True, engine="spark", **sources, **parts)
    for path in PATHS[:4]:
        assert rows(remote.latest(path)) == rows(local.latest(path)), path
    assert [key for key in bucket.keys("parts/en") if key.endswith("counts.json")]
