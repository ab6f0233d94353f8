"""Missing scores are reported by their own run, also if one process, such as a notebook, runs two."""

from __future__ import annotations

from typing import Any

import mlflow
import pytest
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project

from ease.errors import EaseError
from tests.contexts import nested, undisturbed
from tests.project import SMALL, Project


def run(project: Project, pipeline: str, baselines: dict[str, Any]) -> None:
    """Run a pipeline for baselines in this process, as a notebook does."""
    given = nested(**SMALL) | {"evaluate": {"tasks": ["sample_graded"], "baselines": baselines}}
    with KedroSession.create(project_path=project.folder, runtime_params=given) as session:
        session.run(pipeline_names=[pipeline], namespaces=["baselines"])


def test_two_runs_in_one_process_do_not_share_missing_scores(copy: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    with undisturbed():
        monkeypatch.chdir(copy.folder)
        bootstrap_project(copy.folder)
        with pytest.raises(EaseError, match="Not all could be scored.*\n.*'no/such-encoder' does not load"):
            run(copy, "evaluate", {"gone": {"name": "no/such-encoder"}})
        run(copy, "acquire_evaluation", {})
        assert mlflow.active_run() is None
