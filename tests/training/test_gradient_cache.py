"""Gradient caching: mini-batches have the gradients of the direct computation."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from ease.methods import method_names
from ease.training.job import run_job
from ease.training.options import TrainingResult
from tests.training.gradients import Case, gradients, joint_gradients
from tests.training.tiny_training import MakeJob, losses, weights

PLUS: dict[str, Any] = {"attraction": 0.5, "subject_weight": 0.2}
EASE: dict[str, Any] = {"mask_same_entity": True, "hard_negative_weight": 1.0, "projection": "tanh"}
ABLATIONS: list[tuple[str, dict[str, Any]]] = [
    ("ease", EASE),
    ("ease", {"self_supervised": False, "hard_negatives": False}),
    ("ease_plus", PLUS),
    ("simcse", {"mlm_weight": 0.1}),
    ("supervised_simcse", {"hard_negative_weight": 1.0}),
    ("mirror_bert", {"drophead": 0.1}),
    ("mirror_bert", {"positive_in_denominator": False, "span": 0, "controlled_dropout": True}),
]
ROWS = 13
"""Pairs, in 5 parts of 3 or 2."""


def assert_equal(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert value.abs().max() > 0, f"{name} has no gradient to compare"
        assert torch.allclose(found[name], value, rtol=1e-6, atol=1e-9), name


@pytest.mark.parametrize(("method", "options"), [*((name, {}) for name in method_names()), *ABLATIONS])
def test_gradient_caching_keeps_the_gradients(
    files: Path, tmp_path: Path, method: str, options: dict[str, Any]
) -> None:
    """Dropout masks are the same in both forward passes, and in the direct computation with the same chunks."""
    direct = Case(files, method, options, ROWS, chunks=5)
    # Masked-language modelling, of a whole batch else, makes 4 parts on a CPU by itself.
    cached = gradients(direct._replace(mini_batch_size=4), tmp_path)
    assert_equal(cached, gradients(direct, tmp_path))


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("ease", EASE),
        ("ease_plus", PLUS),
        ("supervised_simcse", {"hard_negative_weight": 1.0}),
        ("mirror_bert", {"dropout": None}),
    ],
)
def test_two_processes_have_the_gradients_of_the_joint_batch(
    files: Path, tmp_path: Path, method: str, options: dict[str, Any]
) -> None:
    """Sentences, entities and hard negatives are gathered with their gradients, in mini-batches."""
    still = "encoder_without_dropout"
    joint = Case(files, method, {**options, "gather_negatives": True}, 14, encoder=still)
    expected = gradients(joint, tmp_path)
    ranks = joint_gradients(joint._replace(mini_batch_size=3, chunks=3), tmp_path, 2)
    for found in ranks:
        assert_equal({**found, "loss": expected["loss"]}, expected)
    assert torch.allclose((ranks[0]["loss"] + ranks[1]["loss"]) / 2, expected["loss"], rtol=1e-9)


@pytest.mark.parametrize(("precision", "noise"), [("fp32", 1e-4), ("bf16", 1e-2)])
def test_a_training_in_mini_batches_equals_the_direct_one(
    make_job: MakeJob, precision: str, noise: float
) -> None:
    """In the loop, with clipping, dropout, evaluations and checkpoints; only rounding may differ."""
    training = {"precision": precision, "max_grad_norm": 0.5}
    direct = run_job(make_job("direct", training={**training, "length_chunks": 4}))
    cached = run_job(make_job("cached", training={**training, "mini_batch_size": 4}))
    other = run_job(make_job("other", training={**training, "length_chunks": 4, "seed": 1}))
    assert list(losses(cached).values()) == pytest.approx(list(losses(direct).values()), rel=noise / 10)
    assert distance(cached, direct) < noise * distance(other, direct)


def distance(first: TrainingResult, second: TrainingResult) -> float:
    """Euclidean distance between all trained parameters."""
    one, two = weights(first), weights(second)
    assert one.keys() == two.keys()
    return math.sqrt(sum(float(((one[name] - two[name]) ** 2).sum()) for name in one))
