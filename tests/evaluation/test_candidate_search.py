"""Neighbours among candidates, and one-to-one matches: equal to a search in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ease.errors import EaseError
from ease.evaluation import candidate_search
from ease.evaluation.mining import margin_scores, one_to_one
from ease.evaluation.search import MISSING, Neighbours, candidate_neighbours, mutual_neighbours


def units(rows: int, seed: int, dimension: int = 8) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).normal(size=(rows, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def all_pairs(left: int, right: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows = np.indices((left, right)).reshape(2, -1)
    return rows[0], rows[1]


def test_with_all_pairs_as_candidates_it_is_the_exhaustive_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_search, "BLOCK", 97)
    left, right = units(40, 0), units(55, 1)
    here, there = all_pairs(40, 55)
    order = np.random.default_rng(2).permutation(len(here))
    blocks = [(here[part], there[part]) for part in np.array_split(order, 7)]
    for found, exact in zip(
        candidate_neighbours(left, right, blocks, 3), mutual_neighbours(left, right, 3), strict=True
    ):
        assert (found.rows == exact.rows).all()
        assert found.cosines == pytest.approx(exact.cosines, abs=1e-6)


def test_missing_neighbours_have_the_mean_cosine_of_their_place() -> None:
    left = np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
    right = np.array([[1, 0], [0.8, 0.6]], dtype=np.float32)
    candidates = (np.array([0, 0, 1]), np.array([0, 1, 1]))
    forward, backward = candidate_neighbours(left, right, [candidates], 3)
    assert forward.rows.tolist() == [[0, 1, MISSING], [1, MISSING, MISSING], [MISSING] * 3]
    assert forward.cosines == pytest.approx(
        np.array([[1, 0.8, 0.8], [0.6, 0.8, 0.8], [0.8, 0.8, 0.8]]), abs=1e-6
    )
    assert backward.rows.tolist() == [[0, MISSING, MISSING], [0, 1, MISSING]]


def test_equally_near_candidates_are_ordered_by_row() -> None:
    same = np.ones((4, 1), dtype=np.float32)
    here, there = all_pairs(4, 4)
    order = np.random.default_rng(0).permutation(16)
    forward, _ = candidate_neighbours(same, same, [(here[order], there[order])], 2)
    assert forward.rows.tolist() == [[0, 1]] * 4


def test_no_candidate_and_no_neighbour_are_refused() -> None:
    nothing = np.array([], dtype=np.int64)
    with pytest.raises(EaseError, match="There is no candidate to compare"):
        candidate_neighbours(units(2, 0), units(2, 1), [(nothing, nothing)], 1)
    with pytest.raises(EaseError, match="0 neighbours: ask for at least 1"):
        candidate_neighbours(units(2, 0), units(2, 1), [], 0)


def greedy(forward: Neighbours, backward: Neighbours, least: float) -> list[tuple[int, int]]:
    """Match the best of all remaining pairs, one by one."""
    edges = {}
    for near, other, swapped in ((forward, backward, False), (backward, forward, True)):
        for row, scores in enumerate(margin_scores(near, other)):
            for score, found in zip(scores, near.rows[row], strict=True):
                if found >= 0 and score >= least:
                    edges[(int(found), row) if swapped else (row, int(found))] = score
    matches: list[tuple[int, int]] = []
    for left, right in sorted(edges, key=lambda pair: (-edges[pair], pair)):
        if left not in {one for one, _ in matches} and right not in {two for _, two in matches}:
            matches.append((left, right))
    return matches


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("least", [0.0, 1.1])
def test_matches_are_those_of_taking_the_best_free_pair_again_and_again(seed: int, least: float) -> None:
    left, right = units(60, seed), units(80, seed + 10)
    here, there = all_pairs(60, 80)
    chosen = np.random.default_rng(seed).random(len(here)) < 0.1
    near = candidate_neighbours(left, right, [(here[chosen], there[chosen])], 4)
    found = one_to_one(*near, least)
    pairs = list(zip(found.queries.tolist(), found.targets.tolist(), strict=True))
    assert pairs == greedy(*near, least)
    assert len(set(found.queries)) == len(set(found.targets)) == len(pairs) > 20
    assert (np.diff(found.scores) <= 0).all()
    assert found.scores.min() >= least
    assert found.cosines == pytest.approx(
        np.einsum("ij,ij->i", left[found.queries], right[found.targets]), abs=1e-6
    )


def test_nothing_matches_above_every_margin() -> None:
    near = mutual_neighbours(units(5, 0), units(5, 1), 2)
    assert len(one_to_one(*near, 100.0).queries) == 0
