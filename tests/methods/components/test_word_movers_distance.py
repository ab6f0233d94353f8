"""Word Mover's Distances against linear programming, and wrong input."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import linprog
from torch import Tensor

from ease.errors import EaseError
from ease.methods.components.word_movers_distance import word_movers_distances

LENGTHS = [(1, 1), (1, 7), (6, 1), (5, 5), (7, 3), (4, 7), (7, 6)]
"""Tokens of the first and the second sentence of each pair."""


def linear_programme(first: np.ndarray, second: np.ndarray) -> float:
    """Return the transport cost of (k, dimension) to (l, dimension) with equal weights, by a general solver."""
    cost = np.sqrt(((first[:, None] - second[None]) ** 2).sum(-1))
    rows, columns = cost.shape
    leaves = np.kron(np.eye(rows), np.ones(columns))
    arrives = np.kron(np.ones(rows), np.eye(columns))
    mass = np.r_[np.full(rows, 1 / rows), np.full(columns, 1 / columns)]
    solved = linprog(
        cost.ravel(), A_eq=np.vstack([leaves, arrives]), b_eq=mass, bounds=(0, None), method="highs"
    )
    assert solved.status == 0
    return float(solved.fun)


def sentences(
    dtype: torch.dtype = torch.float64, scale: float = 1.0
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return embeddings and masks of `LENGTHS`; the tokens that count are scattered."""
    generator = np.random.default_rng(0)
    embeddings, masks = [], []
    for side in (0, 1):
        mask = np.zeros((len(LENGTHS), 9), dtype=bool)
        for pair, lengths in enumerate(LENGTHS):
            mask[pair, generator.choice(9, lengths[side], replace=False)] = True
        embeddings.append(torch.tensor(scale * generator.normal(size=(*mask.shape, 5)), dtype=dtype))
        masks.append(torch.tensor(mask))
    return embeddings[0], embeddings[1], masks[0], masks[1]


def expected(first: Tensor, second: Tensor, moved: Tensor, reached: Tensor) -> list[float]:
    pairs = zip(first, second, moved, reached, strict=True)
    return [linear_programme(one[mask].numpy(), other[rest].numpy()) for one, other, mask, rest in pairs]


@pytest.mark.parametrize("scale", [1e-3, 30.0])
def test_distances_are_those_of_linear_programmes(scale: float) -> None:
    given = sentences(scale=scale)
    found = word_movers_distances(*given)
    assert found.dtype == torch.float64
    assert found.tolist() == pytest.approx(expected(*given), rel=1e-9)


def test_single_and_half_precision_give_single_precision() -> None:
    given = sentences(torch.float32)
    found = word_movers_distances(*given)
    assert found.dtype == torch.float32
    assert found.tolist() == pytest.approx(expected(*given), rel=1e-6)
    first, second, moved, reached = given
    halved = word_movers_distances(first.bfloat16(), second.bfloat16(), moved.long(), reached.long())
    assert halved.dtype == torch.float32
    assert halved.tolist() == pytest.approx(expected(*given), rel=0.01)


@pytest.mark.parametrize("scale", [1e-3, 30.0])
def test_entropic_distances_near_the_exact_ones_from_above(scale: float) -> None:
    given = sentences(scale=scale)
    exact = np.array(expected(*given))
    excess = {share: word_movers_distances(*given, share).numpy() / exact - 1 for share in (0.3, 0.1, 0.03)}
    assert (excess[0.3] > excess[0.1] - 1e-3).all()
    assert excess[0.3].max() > 0.02
    assert excess[0.1].max() < 0.06
    assert np.abs(excess[0.03]).max() < 0.01


def test_an_entropic_plan_is_the_one_that_the_regularised_problem_has() -> None:
    # Two tokens at 0 and 1 to the same two: of the plan [[p, q], [q, p]] with p + q = 1/2 the entropic problem takes
    # p / q = exp(1 / ε'), ε' being ε times the mean distance, a half; it costs 2q.
    line = torch.tensor([[[0.0], [1.0]]], dtype=torch.float64)
    there = torch.ones(1, 2)
    for share in (0.5, 1.0, 4.0):
        found = word_movers_distances(line, line, there, there, share).item()
        assert found == pytest.approx(1 / (1 + np.exp(1 / (share * 0.5))), abs=1e-3)


@pytest.mark.parametrize("regularization", [None, 0.1])
def test_a_distance_is_a_metric_s(regularization: float | None) -> None:
    first, second, moved, reached = sentences()
    found = word_movers_distances(first, second, moved, reached, regularization)
    assert torch.allclose(
        found, word_movers_distances(second, first, reached, moved, regularization), rtol=2e-3
    )
    same = word_movers_distances(first[:2].float(), first[:2].float(), moved[:2], moved[:2], regularization)
    assert same.tolist() == [0, 0], "one token moved to itself"
    assert not word_movers_distances(
        first.clone().requires_grad_(), second, moved, reached, regularization
    ).requires_grad
    # What is masked does not matter, however far away it is.
    first[~moved], second[~reached] = 1e6, -1e6
    assert torch.allclose(found, word_movers_distances(first, second, moved, reached, regularization))


def test_sentences_without_tokens_are_named() -> None:
    first, second, moved, reached = sentences()
    moved[1] = reached[1] = reached[4] = False
    message = (
        "without tokens: the first of pair 1, the second of pair 1, the second of pair 4 in a batch of 7"
    )
    for regularization in (None, 0.1):
        with pytest.raises(EaseError, match=message):
            word_movers_distances(first, second, moved, reached, regularization)


@pytest.mark.parametrize("broken", [torch.nan, torch.inf])
def test_broken_embeddings_are_refused(broken: float) -> None:
    first, second, moved, reached = sentences()
    first[0, 0, 0] = broken
    moved[0, 0] = True
    with pytest.raises(EaseError, match="token embeddings are not finite"):
        word_movers_distances(first, second, moved, reached)
    moved[0, 0], moved[0, 1] = False, True
    assert word_movers_distances(first, second, moved, reached).isfinite().all(), (
        "a padded one does not matter"
    )
