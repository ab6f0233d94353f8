"""Missing scores are reported by their own run, also if one process, such as a notebook, runs two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlflow
import pytest
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project

from ease.errors import EaseError
from tests.contexts import undisturbed
from tests.project import Project, make_project


def run(project: Project, pipeline: str, baselines: dict[str, Any]) -> None:
    """Run a pipeline for baselines in this process, as a notebook does."""
    sample = {
        "sentences_per_language": 400,
        "parallel_facts": 40,
        "graded_pairs": 60,
        "graded_territories": 12,
    }
    given = {
        "acquire": {"sample": {"territories": 60, **sample}},
        "evaluate": {"tasks": ["sample_graded"], "baselines": baselines},
    }
    with KedroSession.create(project_path=project.folder, runtime_params=given) as session:
        session.run(pipeline_names=[pipeline], namespaces=["baselines"])


def test_two_runs_in_one_process_do_not_share_missing_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project(tmp_path)
    with undisturbed():
        monkeypatch.chdir(project.folder)
        bootstrap_project(project.folder)
        with pytest.raises(EaseError, match="Not all could be scored.*\n.*'no/such-encoder' does not load"):
            run(project, "evaluate", {"gone": {"name": "no/such-encoder"}})
        run(project, "acquire_evaluation", {})
        assert mlflow.active_run() is None
