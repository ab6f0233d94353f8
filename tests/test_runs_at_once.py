"""Two runs at once in one project end both, each with versions of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.dataset as pads
import pytest

from tests.project import LIMIT, Project, params

pytestmark = pytest.mark.slow


def rows(table: Path) -> list[dict[str, Any]]:
    files = [str(table)] if table.is_file() else sorted(map(str, table.glob("*.parquet")))
    return sorted(pads.dataset(files).to_table().to_pylist(), key=repr)


def test_two_runs_at_once_make_the_same_rows(copy: Project, tmp_path: Path) -> None:
    data = copy.folder / "data" / "02_intermediate"
    shutil.rmtree(data / "parts")
    command = [sys.executable, "-m", "kedro", "run", "--pipelines=ingest", "--params", params()]
    logs = [tmp_path / name for name in ("one.log", "other.log")]
    runs = []
    for log in logs:
        with log.open("w") as output:
            runs.append(subprocess.Popen(command, cwd=copy.folder, stdout=output, stderr=output))
    statuses = [run.wait(LIMIT) for run in runs]
    assert statuses == [0, 0], "\n".join(log.read_text(encoding="utf-8") for log in logs)
    for name in ("sentences", "redirects", "sitelinks", "entity_types", "links.parquet"):
        alone, *at_once = copy.versions(f"02_intermediate/multilingual/{name}")
        assert len(at_once) == 2
        assert all(rows(table) == rows(alone) for table in at_once)
    assert not [path for path in data.rglob(".*") if path.name != ".gitkeep"]
