"""Selection of the best model, also after a kill while it is saved."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch import nn

from ease.encoders.encoder import load_encoder
from ease.io.names import DEVELOPMENT
from ease.methods import get_method, method_options
from ease.training.model import TrainingModel
from ease.training.selection import BestModel, score_encoder


@pytest.fixture(scope="module")
def model(files: Path) -> TrainingModel:
    encoder = load_encoder(str(files / "encoder"))
    method = get_method("simcse").build(method_options("simcse", {}), encoder, None)
    return TrainingModel(encoder, nn.Identity(), method)


def folders(path: Path) -> list[str]:
    return sorted(found.name for found in path.iterdir())


def test_the_first_of_equal_scores_is_kept(model: TrainingModel, tmp_path: Path) -> None:
    best = BestModel(tmp_path)
    for step, score, kept in ((10, 50.0, 10), (20, 50.0, 10), (30, 60.0, 30), (40, 55.0, 30)):
        best.consider(step, model, score)
        assert best.step == kept
    assert (best.step, best.score) == (30, 60.0)
    assert folders(tmp_path) == ["best-00000030"]


def test_the_model_of_the_last_checkpoint_stays_until_the_next(model: TrainingModel, tmp_path: Path) -> None:
    best = BestModel(tmp_path)
    best.consider(10, model, 50.0)
    best.prune()
    for step in (20, 30):
        best.consider(step, model, 50.0 + step)
        assert folders(tmp_path) == ["best-00000010", f"best-{step:08d}"]
    best.prune()
    assert folders(tmp_path) == ["best-00000030"]


def test_without_scores_the_last_model_is_kept(model: TrainingModel, tmp_path: Path) -> None:
    best = BestModel(tmp_path)
    best.consider(10, model, None)
    best.consider(20, model, None)
    assert best.step == 20


def test_publishing_may_be_repeated_after_a_kill(model: TrainingModel, tmp_path: Path) -> None:
    best = BestModel(tmp_path)
    best.consider(10, model, 1.0)
    best.publish(tmp_path / "model", "# First\n", best.path)
    again = BestModel(tmp_path)
    again.restore({"best_step": 10, "best_score": 1.0})
    again.publish(tmp_path / "model", "# Second\n", again.path)
    assert folders(tmp_path) == ["model"]
    assert (tmp_path / "model" / "README.md").read_text(encoding="utf-8") == "# First\n"


def test_a_method_without_parts_saves_none(model: TrainingModel, tmp_path: Path) -> None:
    best = BestModel(tmp_path)
    best.consider(1, model, None)
    assert not (best.path / "training").exists()


def test_an_evaluation_that_draws_leaves_the_random_state_of_the_training(model: TrainingModel) -> None:
    def evaluate(encoder: SentenceTransformer) -> dict[str, float]:
        return {DEVELOPMENT: torch.rand(1).item()}

    state = torch.get_rng_state()
    score_encoder(model, evaluate)
    assert torch.equal(torch.get_rng_state(), state)
