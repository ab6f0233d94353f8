"""Evaluation sets are located, downloaded or reported missing by the pipeline's functions."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from ease.pipelines.acquire.options import AcquireOptions
from ease.pipelines.acquire_evaluation import nodes
from ease.pipelines.acquire_evaluation.nodes import EvaluationSetOptions, locate_evaluation_sets
from ease.pipelines.acquire_evaluation.sources import Source
from ease.pipelines.evaluate.options import EvaluateOptions
from ease.pipelines.setting import Setting
from tests.file_server import running_server

DEV = b"main-news\theadlines\t2013\t0001\t1.0\tone\ttwo\nmain-news\theadlines\t2013\t0002\t4.0\ta\tb\n"
TASKS: dict[str, dict[str, Any]] = {
    "stsb": {"path": "stsb", "subsets": ["dev"]},
    "sickr": {"path": "sick", "subsets": ["trial"]},
    "sample_graded": {"path": "sample:graded"},
}


def locate(folder: Path, *, fetch: bool = False, tasks: str = "stsb sample_graded") -> dict[str, Any]:
    acquire = AcquireOptions(
        wikipedia="sample:",
        wikidata="sample:",
        sample_folder=folder / "sample",
        sample={"territories": 60, "sentences_per_language": 400, "parallel_facts": 20, "graded_pairs": 30},
        download_folder=folder / "dumps",
    )
    setting = Setting(
        name="s", languages="en", encoder={}, dev_tasks="sample_graded", test_tasks="sample_graded"
    )
    sets = EvaluationSetOptions(folder=folder / "sets", fetch=fetch)
    return locate_evaluation_sets(acquire, sets, TASKS, EvaluateOptions(tasks=tasks, baselines={}), setting)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Serve STS-B's development split and return sources; SICK's server does not answer."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with running_server() as server:
        server.files["/sts-dev.csv"] = DEV
        sources = {
            task: Source.model_validate(
                {
                    "licence": "CC0",
                    "files": [{"address": f"{server.address}/", "folder": folder, "sha256": {file: None}}],
                }
            )
            for task, folder, file in (("stsb", "stsb", "sts-dev.csv"), ("sickr", "sick", "SICK_trial.txt"))
        }
        monkeypatch.setattr(nodes, "read_sources", lambda: sources)
        yield server


@pytest.mark.slow
def test_nothing_is_downloaded_by_default(
    served: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        located = locate(tmp_path)
    assert located["stsb"]["subsets"] == {}
    assert located["sample_graded"]["subsets"] == {"en": [""]}
    assert "stsb: 1 of 1 subsets cannot be scored: sts-dev.csv missing" in caplog.text
    assert not (tmp_path / "sets").exists()


@pytest.mark.slow
def test_available_sets_are_downloaded_and_others_reported_missing(
    served: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        located = locate(tmp_path, fetch=True, tasks="stsb sickr sample_graded")
    assert located["stsb"]["subsets"] == {"dev": ["sts-dev.csv"]}
    assert (tmp_path / "sets" / "stsb" / "sts-dev.csv").read_bytes() == DEV
    assert located["sickr"]["missing"] == {"trial": ["SICK_trial.txt"]}
    (reason,) = located["sickr"]["faults"].values()
    assert "SICK_trial.txt does not exist: the server answers 404" in reason, (
        "a named task fails the run at its end"
    )
    assert "Evaluation set sickr: 1 of its files could not be fetched" in caplog.text
