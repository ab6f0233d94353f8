"""The paper's configuration on small inputs, from dumps to scores; `make rehearse` runs all pipelines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project import Project
from tests.rehearsal.rehearsed import make_rehearsed, rehearse

pytestmark = pytest.mark.long

TASKS = ("sts", "stc", "tatoeba", "bucc")
"""Fast baselines, one of each kind."""


@pytest.fixture(scope="module")
def rehearsed(test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project in which one command has trained and scored the baselines with `--env=paper`."""
    folder = tmp_path_factory.mktemp("rehearsal")
    project = make_rehearsed(folder, test_data)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("HF_HUB_CACHE", str(folder / "hub"))
        rehearse(project, "train_monolingual,evaluate", evaluate__tasks=" ".join(TASKS))
    return project


def test_the_baselines_are_scored_under_the_papers_names(rehearsed: Project) -> None:
    rows = rehearsed.json("07_model_output/baselines/scores.json")
    methods = {row["method"] for row in rows}
    assert {"BERT (avg.)", "RoBERTa (first-last avg.)", "LaBSE", "GloVe (avg.)"} <= methods
    assert {row["task"] for row in rows} == set(TASKS)


def test_the_trained_models_are_scored(rehearsed: Project) -> None:
    for method in ("untrained", "ease", "simcse"):
        rows = rehearsed.json(f"07_model_output/monolingual/{method}/scores.json")
        assert {row["base"] for row in rows} == {"bert-base-uncased"}
