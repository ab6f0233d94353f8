"""Orthogonal maps, CSLS and ranks against their definitions in double precision, and hand-worked cases."""

from __future__ import annotations

import numpy as np
import pytest

from ease.errors import EaseError
from ease.evaluation.retrieval import csls_ranks, hits_within, orthogonal_map, unit_rows


def random_units(rows: int, dimension: int, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).standard_normal((rows, dimension))
    units: np.ndarray = (drawn / np.linalg.norm(drawn, axis=1)[:, None]).astype(np.float32)
    return units


def csls_by_definition(queries: np.ndarray, targets: np.ndarray, sources: np.ndarray, k: int) -> np.ndarray:
    """2 cos(x, y) - r(x) - r(y) of all pairs, (queries, targets)."""
    queries, targets, sources = (rows.astype(np.float64) for rows in (queries, targets, sources))
    cosines = queries @ targets.T
    near_query = np.sort(cosines, axis=1)[:, -k:].mean(axis=1)
    near_target = np.sort(sources @ targets.T, axis=0)[-k:].mean(axis=0)
    csls: np.ndarray = 2 * cosines - near_query[:, None] - near_target[None, :]
    return csls


def test_a_rotation_is_found_again() -> None:
    source = random_units(60, 12, 1)
    rotation = np.linalg.qr(np.random.default_rng(2).standard_normal((12, 12)))[0]
    np.testing.assert_allclose(orthogonal_map(source, source @ rotation), rotation, atol=1e-6)


def test_the_map_is_orthogonal_and_no_other_is_nearer() -> None:
    source, target = random_units(40, 8, 3), random_units(40, 8, 4)
    found = orthogonal_map(source, target)
    np.testing.assert_allclose(found @ found.T, np.eye(8), atol=1e-12)
    left, _, right = np.linalg.svd(source.astype(float).T @ target.astype(float))
    np.testing.assert_allclose(found, left @ right, atol=1e-9)
    least = np.linalg.norm(source @ found - target)
    generator = np.random.default_rng(5)
    for size in (1e-3, 0.1, 10):
        other = np.linalg.qr(found + size * generator.standard_normal((8, 8)))[0]
        assert np.linalg.norm(source @ other - target) > least


@pytest.mark.parametrize("shapes", [((0, 3), (0, 3)), ((4, 3), (4, 2)), ((4, 3), (5, 3))])
def test_a_map_needs_pairs_of_one_dimension(shapes: tuple[tuple[int, int], tuple[int, int]]) -> None:
    with pytest.raises(EaseError, match=r"learnt from at least one pair"):
        orthogonal_map(np.ones(shapes[0]), np.ones(shapes[1]))


@pytest.mark.parametrize("block", [(7, 5), (64, 30), (4096, 8192)])
@pytest.mark.parametrize("neighbours", [1, 10])
def test_ranks_are_those_of_the_whole_matrix(block: tuple[int, int], neighbours: int) -> None:
    sources, targets = random_units(90, 6, 6), random_units(130, 6, 7)
    queries = sources[20:65]
    generator = np.random.default_rng(8)
    gold = {(query, int(generator.integers(130))) for query in [*range(45), *range(0, 45, 3)]}
    csls = csls_by_definition(queries, targets, sources, neighbours)
    expected = []
    for query in range(45):
        right = {target for row, target in gold if row == query}
        best = max(csls[query, target] for target in right)
        expected.append(1 + sum(csls[query, target] >= best for target in range(130) if target not in right))
    ranks = csls_ranks(queries, targets, sources, np.array(sorted(gold)), neighbours, block)
    np.testing.assert_array_equal(ranks, expected)
    assert len(gold) > 45
    assert 1 < np.median(expected) < 130


def test_csls_takes_the_hub_back() -> None:
    # In the plane, by degrees: the hub at 0 is nearest to the query at 24, whose translation stands at 50; but the
    # other sources, at -2, 0 and 2, all crowd round the hub.
    def at(*degrees: float) -> np.ndarray:
        angles = np.deg2rad(degrees)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    sources, targets, gold = at(24, -2, 0, 2), at(0, 50), np.array([[0, 1]])
    assert (sources[:1] @ targets.T).argmax() == 0
    # 2 cos 24 - 1 = 0.827 and 2 cos 26 - cos 26 = 0.899, with one neighbour.
    assert csls_ranks(sources[:1], targets, sources, gold, 1).tolist() == [1]
    assert csls_ranks(sources[:1], targets, sources[:1], gold, 1).tolist() == [2]


def test_what_is_tied_with_the_right_target_is_before_it_unless_it_is_right_too() -> None:
    targets = random_units(6, 4, 9)
    targets[3] = targets[0]
    queries = targets[[0, 0, 1]]
    ranks = csls_ranks(queries, targets, queries, np.array([[0, 0], [1, 0], [1, 3], [2, 1]]), 2)
    assert ranks.tolist() == [2, 1, 1]


def test_each_query_needs_a_gold_target() -> None:
    rows = random_units(3, 4, 10)
    with pytest.raises(EaseError, match="2 of 3 queries have no gold target, first query 0"):
        csls_ranks(rows, rows, rows, np.array([[1, 1]]), 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_scaled_and_centred(dtype: type) -> None:
    drawn = np.random.default_rng(11).standard_normal((50, 7)) * 3 + 2
    rows: np.ndarray = drawn.astype(dtype)
    before = rows.copy()
    units = drawn / np.linalg.norm(drawn, axis=1)[:, None]
    np.testing.assert_allclose(unit_rows(rows), units, atol=1e-6)
    centred = units - units.mean(axis=0)
    expected = centred / np.linalg.norm(centred, axis=1)[:, None]
    found = unit_rows(rows, center=True)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(rows, before)


def test_rows_without_a_direction_are_refused() -> None:
    with pytest.raises(EaseError, match="1 of 2 rows of the embeddings are zero"):
        unit_rows(np.array([[1.0, 0.0], [0.0, 0.0]]))
    with pytest.raises(EaseError, match="2 of 2 rows of the centred embeddings are zero"):
        unit_rows(np.array([[1.0, 0.0], [2.0, 0.0]]), center=True)


@pytest.mark.parametrize("k", [1, 3, 5])
def test_hits_are_right_candidates_among_the_best_k(k: int) -> None:
    generator = np.random.default_rng(12)
    cosines = -np.sort(-generator.uniform(-1, 1, (200, 6)), axis=1)
    right = generator.random((200, 6)) < 0.15
    hits = hits_within(cosines, right, k)
    np.testing.assert_array_equal(hits, right[:, :k].any(axis=1))
    assert 0 < hits.sum() < 200


def test_a_tie_at_the_last_place_is_no_hit() -> None:
    cosines = np.array([[0.9, 0.5, 0.5], [0.9, 0.5, 0.4], [0.5, 0.5, 0.5], [0.7, 0.7, 0.1]])
    right = np.array([[0, 1, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]], dtype=bool)
    assert hits_within(cosines, right, 1).tolist() == [False, False, False, True]
    assert hits_within(cosines, right, 2).tolist() == [False, True, False, True]
    assert hits_within(cosines, right, 3).tolist() == [True] * 4
