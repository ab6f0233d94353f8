"""A trained encoder without its language subspace: rank chosen on development data, saved, resumable."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from ease.encoders.encoder import load_encoder
from ease.errors import EaseError
from ease.training.job import run_job
from tests.training.tiny_training import MakeJob, sentences, weights


def spread(model: str) -> float:
    """Return how far the means of the four languages are from their mean, in unit embeddings."""
    encoder = load_encoder(model)
    rows = encoder.encode(sentences(), normalize_embeddings=True)
    means = np.stack([rows[number::4].mean(axis=0) for number in range(4)])
    return float(np.linalg.norm(means - means.mean(axis=0)))


def test_a_single_rank_is_removed_without_development_data(make_job: MakeJob) -> None:
    plain = run_job(make_job("plain", development={}))
    found = run_job(make_job("removed", development={}, training={"language_ranks": [3]}))
    assert spread(str(found.model)) < 0.35 * spread(str(plain.model))
    before, after = weights(plain), weights(found)
    assert all(np.array_equal(before[name], after[name]) for name in before), "the training is the same"
    assert (found.model / "training" / "parts.safetensors").is_file()
    assert not list(found.model.parent.glob("best-*"))


def test_the_rank_with_the_best_development_score_is_kept(
    make_job: MakeJob, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    job = make_job("chosen", training={"language_ranks": [0, 1, 3]})
    found = run_job(job)
    (line,) = [message for message in caplog.messages if message.startswith("Removed")]
    scores = {
        int(part.split(":")[0]): float(part.split(":")[1])
        for part in line[line.index(": ") + 2 : -1].split(", ")
    }
    chosen = int(line.split()[1])
    assert sorted(scores) == [0, 1, 3]
    assert scores[chosen] == max(scores.values())
    assert found.best_score == pytest.approx(scores[chosen], abs=0.005)
    assert run_job(job) == found, "a finished training is not run again"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"training": {"language_ranks": [4]}}, "`language_ranks` 4: the means of 4 language.s. span 3"),
        ({"training": {"language_ranks": [0, 1]}, "development": {}}, "a choice needs development tasks"),
    ],
)
def test_wrong_ranks_are_refused_before_the_training(
    make_job: MakeJob, changes: dict[str, object], message: str
) -> None:
    job = make_job(**changes)
    with pytest.raises(EaseError, match=message):
        run_job(job)
    assert not (job.folder / "metrics.jsonl").exists()
