"""Selection of the best model, also after a kill while it is saved, and removal of its language subspace."""

from __future__ import annotations

import ast
import logging
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from ease.encoders.encoder import load_encoder
from ease.evaluation.scoring import DEVELOPMENT, RETENTION
from ease.methods import get_method, method_options
from ease.training import job as job_module
from ease.training.checkpoints import BestModel
from ease.training.job import run_job
from ease.training.model import TrainingModel
from tests.training.tiny_training import MakeJob, sentences, weights


def test_the_model_of_the_last_checkpoint_stays_until_the_next(files: Path, tmp_path: Path) -> None:
    encoder = load_encoder(str(files / "encoder"))
    method = get_method("simcse").build(method_options("simcse", {}), encoder, None)
    model = TrainingModel(encoder, nn.Identity(), method)

    def folders() -> list[str]:
        return sorted(found.name for found in tmp_path.iterdir())

    best = BestModel(tmp_path)
    best.consider(10, model, 50.0)
    best.prune()
    for step in (20, 30):
        best.consider(step, model, 50.0 + step)
        assert folders() == ["best-00000010", f"best-{step:08d}"]
    best.prune()
    assert folders() == ["best-00000030"]


@pytest.mark.training
@pytest.mark.parametrize(
    ("scores", "kept", "steps", "stopped"),
    [([50, 55, 55, 20, 10, 30], 2, 10, True), ([50, 40, 40, 50, 40, 40, 50], 0, 12, False)],
)
def test_a_training_below_its_start_stops_and_keeps_the_best_model(
    make_job: MakeJob,
    monkeypatch: pytest.MonkeyPatch,
    files: Path,
    scores: list[float],
    kept: int,
    steps: int,
    stopped: bool,
) -> None:
    left = iter(scores)
    monkeypatch.setattr(job_module, "development_evaluation", lambda *_: lambda _: {DEVELOPMENT: next(left)})
    job = make_job(training={"evaluate_every": 2, "max_below_start": 3})

    def stop(step: int, values: dict[str, float]) -> None:
        if step == steps and DEVELOPMENT not in values:
            raise InterruptedError

    if stopped:
        with pytest.raises(InterruptedError):
            run_job(job, stop)
    result = run_job(job)
    assert (result.best_step, result.steps, next(left, None)) == (kept, steps, None)
    start, end = (load_encoder(str(folder)).state_dict() for folder in (files / "encoder", result.model))
    assert (kept == 0) is all(torch.equal(start[name], end[name]) for name in start)


@pytest.mark.training
def test_a_checkpoint_that_loses_what_the_start_knows_is_not_kept(make_job: MakeJob, tmp_path: Path) -> None:
    development = make_job().development
    job = make_job(
        training={"evaluate_every": 2, "max_steps": 6, "max_below_start": 9, "min_kept": 1000.0},
        retention=development,
    )
    result = run_job(job)
    assert result.best_step == 0, "no checkpoint has ten times the starting encoder's score"
    assert {RETENTION in line for line in result.history if DEVELOPMENT in line} == {True}
    training = {**job.training.model_dump(), "min_kept": 0.0}
    assert run_job(make_job("all", training=training, retention=development)).best_step > 0


@pytest.mark.training
@pytest.mark.parametrize(("sentences_kept", "best_step"), [([80.0, 79.5, 70.0], 2), ([80.0, 70.0, 60.0], 0)])
def test_what_one_task_gains_does_not_hide_the_loss_of_another(
    make_job: MakeJob, monkeypatch: pytest.MonkeyPatch, files: Path, sentences_kept: list[float], best_step: int
) -> None:
    steps = iter(zip([50.0, 55.0, 60.0], [80.0, 90.0, 99.0], sentences_kept, strict=True))
    names = (DEVELOPMENT, f"{RETENTION}/names", f"{RETENTION}/sentences")
    monkeypatch.setattr(
        job_module, "development_evaluation", lambda *_: lambda _: dict(zip(names, next(steps), strict=True))
    )
    result = run_job(make_job(training={"evaluate_every": 2, "max_steps": 4, "min_kept": 99.0}))
    assert result.best_step == best_step
    shares = [line[RETENTION] for line in result.history if RETENTION in line]
    assert shares == pytest.approx([100 * score / 80 for score in sentences_kept])
    start, end = (load_encoder(str(folder)).state_dict() for folder in (files / "encoder", result.model))
    assert (best_step == 0) is all(torch.equal(start[name], end[name]) for name in start)


def test_a_single_rank_is_removed_without_development_data(make_job: MakeJob) -> None:
    plain, found = (
        run_job(make_job(name, development={}, training={"max_steps": 2, "language_ranks": ranks}))
        for name, ranks in (("plain", ()), ("removed", (3,)))
    )

    def spread(model: Path) -> float:
        """Return how far the means of the four languages are from their mean, in unit embeddings."""
        rows = load_encoder(str(model)).encode(sentences(), normalize_embeddings=True)
        means = np.stack([rows[number::4].mean(axis=0) for number in range(4)])
        return float(np.linalg.norm(means - means.mean(axis=0)))

    assert spread(found.model) < 0.35 * spread(plain.model)
    before, after = weights(plain), weights(found)
    assert all(np.array_equal(before[name], after[name]) for name in before), "the training run is the same"
    assert (found.model / "training" / "parts.safetensors").is_file()
    assert not list(found.model.parent.glob("best-*"))


def test_the_rank_with_the_best_development_score_is_kept(make_job: MakeJob, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    job = make_job("chosen", training={"language_ranks": [0, 1, 3], "max_steps": 4})
    found = run_job(job)
    (line,) = [message for message in caplog.messages if message.startswith("Removed")]
    scores = ast.literal_eval(line[line.index("{") : -1])
    chosen = int(line.split()[1])
    assert sorted(scores) == [0, 1, 3]
    assert scores[chosen] == max(scores.values())
    assert found.best_score == pytest.approx(scores[chosen], abs=0.005)
