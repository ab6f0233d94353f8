"""A run writes statistics of datasets for Kedro-Viz; tests/test_browser.py checks Kedro-Viz itself."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.project import Project


def kept(project: Project) -> dict[str, Any]:
    """Return the statistics that Kedro-Viz reads."""
    stats: dict[str, Any] = json.loads((project.folder / ".viz" / "stats.json").read_text(encoding="utf-8"))
    return stats


def test_parts_count_as_one_table(project: Project) -> None:
    parts = list(project.latest("02_intermediate/multilingual/sentences").glob("*.parquet"))
    assert len(parts) > 1
    assert kept(project)["multilingual.sentences"] == {
        "rows": sum(pq.read_metadata(part).num_rows for part in parts),
        "columns": len(pq.read_schema(parts[0]).names),
        "file_size": sum(part.stat().st_size for part in parts),
    }


def test_a_folder_has_the_size_of_its_files(project: Project) -> None:
    encoder = project.latest("06_models/multilingual/untrained/encoder")
    size = sum(file.stat().st_size for file in encoder.rglob("*") if file.is_file())
    assert kept(project)["multilingual.untrained.encoder"] == {"file_size": size}


def test_a_later_run_replaces_only_the_statistics_of_its_datasets(project: Project, tmp_path: Path) -> None:
    copy = project.copy(tmp_path / "copy")
    before = kept(copy)
    changed = {**before, "multilingual.comparison": {"rows": 0, "columns": 0, "file_size": 0}}
    (copy.folder / ".viz" / "stats.json").write_text(json.dumps(changed), encoding="utf-8")
    copy.run("train_multilingual", "--tags=report")
    after = kept(copy)
    assert after["multilingual.comparison"]["rows"] == before["multilingual.comparison"]["rows"] > 0
    assert after["multilingual.pairs"] == before["multilingual.pairs"]


def test_statistics_that_cannot_be_written_do_not_fail_the_run(project: Project, tmp_path: Path) -> None:
    copy = project.copy(tmp_path / "copy")
    shutil.rmtree(copy.folder / ".viz")
    (copy.folder / ".viz").touch()
    done = copy.run("train_multilingual", "--tags=report")
    assert "Kedro-Viz will not show" in done.stderr
