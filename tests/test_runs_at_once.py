"""Two runs at once in one project do not harm each other."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contexts import all_pipelines
from tests.project import LIMIT, Project, params, rows
from tests.test_breaks import Started

pytestmark = pytest.mark.slow


def test_two_runs_at_once_make_the_same_rows_and_each_its_own_encoder(copy: Project, tmp_path: Path) -> None:
    data = copy.folder / "data"
    shutil.rmtree(data / "02_intermediate" / "parts")
    (data / "08_reporting" / "mlflow.db").unlink()  # both runs create it
    nodes = [node.name for node in all_pipelines()["train_multilingual"].only_nodes_with_tags("ingest").nodes]
    chosen = ",".join([*nodes, "multilingual.untrained.make_start_encoder"])
    command = [sys.executable, "-m", "kedro", "run", "--pipelines=train_multilingual", f"--nodes={chosen}", "--params"]
    runs, logs = [], [tmp_path / f"{seed}.log" for seed in (11, 12)]
    for log in logs:
        with log.open("w") as output:
            given = params(multilingual__setting__encoder__seed=log.stem)
            runs.append(subprocess.Popen([*command, given], cwd=copy.folder, stdout=output, stderr=output))
    statuses = [run.wait(LIMIT) for run in runs]
    assert statuses == [0, 0], "\n".join(log.read_text(encoding="utf-8") for log in logs)
    for name in ("sentences", "redirects", "sitelinks", "entity_types", "links.parquet"):
        alone, *at_once = copy.versions(f"02_intermediate/multilingual/{name}")
        assert len(at_once) == 2
        assert all(rows(table) == rows(alone) for table in at_once)
    _, *encoders = copy.versions("06_models/multilingual/untrained/encoder")
    seeds = {}
    for encoder in encoders:
        provenance = json.loads((encoder.parent / "provenance.json").read_text(encoding="utf-8"))
        wanted = provenance["parameters"]["params:multilingual.setting"]["encoder"]["seed"]
        seeds[wanted] = json.loads((encoder / "training" / "mlflow_run.json").read_text())["seed"]
    assert seeds == {11: 11, 12: 12}
    assert not [path for path in (data / "02_intermediate").rglob(".*") if path.name != ".gitkeep"]
    assert not list((data / "06_models" / "work").glob("*scratch*"))


@pytest.mark.long
def test_a_second_training_is_refused_and_leaves_the_first_one_alone(copy: Project, tmp_path: Path) -> None:
    work = copy.folder / "data" / "06_models" / "work" / "multilingual.ease"
    first = Started(copy, tmp_path / "first.log", steps=1_000_000)
    first.wait_for_step(30)  # past the last step of the finished training in the copy
    job = work / "job.json"
    before = (job.stat().st_mtime_ns, job.read_bytes())
    try:
        second = copy.run("train", "--namespaces=multilingual.ease", check=False, multilingual__ease__training__seed=5)
        after = (job.stat().st_mtime_ns, job.read_bytes())
    finally:
        status, said = first.end(signal.SIGINT)
    assert second.returncode == 1
    refusal = f"Error: Another run is at work in {work.relative_to(copy.folder)} (process {first.pid}"
    assert refusal in second.stderr
    assert after == before
    assert status == 1, said
    assert "the same command resumes it" in said
