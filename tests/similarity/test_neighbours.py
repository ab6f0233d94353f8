"""Nearest neighbours and one-to-one matches equal scikit-learn and plain Python, on a CUDA device, too."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.neighbors import NearestNeighbors

from ease.errors import EaseError
from ease.similarity import neighbours
from ease.similarity.neighbours import MISSING, Neighbours, candidate_neighbours, hits_within, mutual_neighbours
from ease.similarity.retrieval import margin_scores, one_to_one


def random_rows(rows: int, dimension: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.standard_normal((rows, dimension)) * generator.uniform(0.1, 9, (rows, 1))


def nearest_by_sklearn(queries: np.ndarray, targets: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosines and rows of the nearest targets, in double precision."""
    index = NearestNeighbors(n_neighbors=k, metric="cosine", algorithm="brute").fit(targets)
    distances, rows = index.kneighbors(queries)
    return 1 - distances, rows


@pytest.mark.parametrize("block", [(11, 5), (1000, 7), (4096, 8192)])
@pytest.mark.parametrize("group", [4, 128])
def test_both_directions_in_one_pass(block: tuple[int, int], group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "GROUP", group)
    monkeypatch.setattr(neighbours, "BLOCK_SHAPE", block)
    queries, targets = random_rows(150, 24, 3), random_rows(211, 24, 4)
    for few in (targets, targets[:3]):  # of fewer rows than neighbours, all are found
        forward, backward = mutual_neighbours(queries, few, 4)
        for found, one, other in ((forward, queries, few), (backward, few, queries)):
            cosines, rows = nearest_by_sklearn(one, other, min(4, len(other)))
            np.testing.assert_array_equal(found.rows, rows)
            np.testing.assert_allclose(found.cosines, cosines, atol=2e-6)


def test_a_tie_at_rank_k_is_a_miss() -> None:
    cosines = np.array([[0.9, 0.5, 0.5], [0.9, 0.5, 0.4], [0.5, 0.5, 0.5], [0.7, 0.7, 0.1]])
    right = np.array([[0, 1, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]], dtype=bool)
    assert hits_within(cosines, right, 1).tolist() == [False, False, False, True]
    assert hits_within(cosines, right, 2).tolist() == [False, True, False, True]
    assert hits_within(cosines, right, 3).tolist() == [True] * 4


@pytest.mark.parametrize(
    ("queries", "targets", "said"),
    [
        (np.ones((3, 2)), np.ones((3, 4)), r"\(3, 2\) and the targets \(3, 4\)"),
        ([[1, 1], [0, 0]], np.ones((3, 2)), "1 of 2 rows of the queries are zero.*first row 1"),
        (np.ones((2, 2)), [[np.nan, 1], [1, 1]], "rows of the targets contain NaN.*row 0"),
    ],
)
def test_unusable_embeddings_are_refused(queries: ArrayLike, targets: ArrayLike, said: str) -> None:
    with pytest.raises(EaseError, match=said):
        neighbours.nearest_neighbours(np.array(queries), np.array(targets), 1)


def units(rows: int, seed: int, dimension: int = 8) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).normal(size=(rows, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_with_all_pairs_as_candidates_it_is_the_exhaustive_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "PAIRS_IN_MEMORY", 97)
    left, right = units(40, 0), units(55, 1)
    here, there = np.indices((40, 55)).reshape(2, -1)
    order = np.random.default_rng(2).permutation(len(here))
    blocks = [(here[part], there[part]) for part in np.array_split(order, 7)]
    both = candidate_neighbours(left, right, blocks, 3)
    for found, exact in zip(both, mutual_neighbours(left, right, 3), strict=True):
        assert (found.rows == exact.rows).all()
        assert found.cosines == pytest.approx(exact.cosines, abs=1e-6)


def test_missing_neighbours_have_the_mean_cosine_of_their_place() -> None:
    left = np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
    right = np.array([[1, 0], [0.8, 0.6]], dtype=np.float32)
    candidates = (np.array([0, 0, 1]), np.array([0, 1, 1]))
    forward, backward = candidate_neighbours(left, right, [candidates], 3)
    assert forward.rows.tolist() == [[0, 1, MISSING], [1, MISSING, MISSING], [MISSING] * 3]
    assert forward.cosines == pytest.approx(np.array([[1, 0.8, 0.8], [0.6, 0.8, 0.8], [0.8, 0.8, 0.8]]), abs=1e-6)
    assert backward.rows.tolist() == [[0, MISSING, MISSING], [0, 1, MISSING]]
    with pytest.raises(EaseError, match="There is no candidate to compare"):
        candidate_neighbours(left, right, [(candidates[0][:0], candidates[1][:0])], 1)


def greedy(forward: Neighbours, backward: Neighbours, least: float) -> list[tuple[int, int]]:
    """Match the best of all remaining pairs, one by one."""
    edges: dict[tuple[int, ...], float] = {}
    for near, other, step in ((forward, backward, 1), (backward, forward, -1)):
        for row, scores in enumerate(margin_scores(near, other)):
            edges |= {(row, int(found))[::step]: score for score, found in zip(scores, near.rows[row], strict=True)}
    matches: dict[int, int] = {}
    for left, right in sorted(edges, key=lambda pair: (-edges[pair], pair)):
        if MISSING not in (left, right) and edges[left, right] >= least:
            if left not in matches and right not in matches.values():
                matches[left] = right
    return list(matches.items())


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("least", [0.0, 1.1])
def test_matches_are_those_of_taking_the_best_free_pair_again_and_again(seed: int, least: float) -> None:
    left, right = units(60, seed), units(80, seed + 10)
    here, there = np.indices((60, 80)).reshape(2, -1)
    chosen = np.random.default_rng(seed).random(len(here)) < 0.1
    near = candidate_neighbours(left, right, [(here[chosen], there[chosen])], 4)
    found = one_to_one(*near, least)
    pairs = list(zip(found.queries.tolist(), found.targets.tolist(), strict=True))
    assert pairs == greedy(*near, least)
    assert len(set(found.queries)) == len(set(found.targets)) == len(pairs) > 20
    assert (np.diff(found.scores) <= 0).all()
    assert found.scores.min() >= least
    assert found.cosines == pytest.approx(np.einsum("ij,ij->i", left[found.queries], right[found.targets]), abs=1e-6)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_gpu_finds_the_neighbours_that_numpy_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "GROUP", 8)
    monkeypatch.setattr(neighbours, "BLOCK_SHAPE", (128, 200))
    random = np.random.default_rng(0)
    queries, targets = (random.normal(size=(rows, 32)).astype(np.float32) * 7 for rows in (300, 500))
    found = mutual_neighbours(queries, targets, 3)
    assert torch.cuda.max_memory_allocated() > 0
    left, right = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (queries, targets))
    for near, cosines in zip(found, (left @ right.T, right @ left.T), strict=True):
        assert np.array_equal(near.rows, np.argsort(-cosines, axis=1)[:, :3])
        assert np.allclose(near.cosines, -np.sort(-cosines, axis=1)[:, :3], atol=1e-5)
