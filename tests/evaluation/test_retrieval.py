"""Parallel retrieval, maps of spaces, CSLS ranks and nDCG equal their definitions, scikit-learn and trec_eval."""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval
from scipy.linalg import fractional_matrix_power, polar, sqrtm
from sklearn.metrics import ndcg_score
from sklearn.neighbors import NearestNeighbors

from ease.evaluation.retrieval import common_space, csls_ranks, ndcg, parallel_hits, unit_rows


def random_rows(rows: int, dimension: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, dimension))


def random_units(rows: int, dimension: int, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).standard_normal((rows, dimension))
    units: np.ndarray = (drawn / np.linalg.norm(drawn, axis=1)[:, None]).astype(np.float32)
    return units


def csls_by_definition(queries: np.ndarray, targets: np.ndarray, sources: np.ndarray, k: int) -> np.ndarray:
    """Return 2 cos(x, y) - r(x) - r(y) of all pairs, shape (queries, targets)."""
    queries, targets, sources = (rows.astype(np.float64) for rows in (queries, targets, sources))
    cosines = queries @ targets.T
    near_query = np.sort(cosines, axis=1)[:, -k:].mean(axis=1)
    near_target = np.sort(sources @ targets.T, axis=0)[-k:].mean(axis=0)
    csls: np.ndarray = 2 * cosines - near_query[:, None] - near_target[None, :]
    return csls


def mapped_by_vecmap(rows: tuple[np.ndarray, np.ndarray], pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Map both sides by VecMap's steps with matrix powers and polar factors, without singular vectors.

    The common space is fixed up to a rotation of both sides: here it is the source's whitened space.
    """
    first, second = (side[:pairs].astype(float) for side in rows)
    variances = [side.T @ side for side in (first, second)]
    white = [fractional_matrix_power(variance, -0.5) for variance in variances]
    crossed = white[0] @ first.T @ second @ white[1]
    rotation = polar(crossed)[0]
    weights = [fractional_matrix_power(gram, 0.25) for gram in (crossed @ crossed.T, crossed.T @ crossed)]
    colours = [sqrtm(variance) for variance in variances]
    return (
        rows[0] @ white[0] @ weights[0] @ colours[0],
        rows[1] @ white[1] @ weights[1] @ colours[1] @ rotation.T,
    )


def test_the_common_space_is_vecmaps() -> None:
    source = random_rows(90, 8, 3) @ np.diag(np.linspace(0.3, 3, 8))
    target = source @ random_rows(8, 8, 4) + 0.4 * random_rows(90, 8, 5)
    maps = common_space(source[:60], target[:60])
    found = [side @ one for side, one in zip((source, target), maps, strict=True)]
    expected = mapped_by_vecmap((source, target), 60)
    for left, right in ((0, 1), (0, 0), (1, 1)):
        np.testing.assert_allclose(
            found[left] @ found[right].T, expected[left] @ expected[right].T, atol=1e-6
        )


def test_a_linear_image_comes_onto_its_rows_and_directions_that_no_pair_has_onto_zero() -> None:
    source = random_rows(60, 12, 1)
    rotation = np.linalg.qr(random_rows(12, 12, 2))[0]
    left, right = common_space(source, source @ rotation)
    np.testing.assert_allclose(source @ left, source @ rotation @ right, atol=1e-6)
    few = np.hstack([source[:5], np.zeros((5, 1))])
    left, right = common_space(few, few)
    np.testing.assert_allclose(few @ left @ right.T @ few.T, few @ few.T, atol=1e-5)
    np.testing.assert_allclose(left[12], 0, atol=1e-9)


@pytest.mark.parametrize("block", [(7, 5), (64, 30), (4096, 8192)])
@pytest.mark.parametrize("neighbours", [1, 10])
def test_ranks_equal_those_of_the_full_matrix(block: tuple[int, int], neighbours: int) -> None:
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


def test_csls_penalizes_hubs() -> None:
    # Angles in the plane: the hub at 0° is nearest to the query at 24°, whose translation is at 50°; but the
    # other sources, at -2°, 0° and 2°, are all near the hub.
    def at(*degrees: float) -> np.ndarray:
        angles = np.deg2rad(degrees)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    sources, targets, gold = at(24, -2, 0, 2), at(0, 50), np.array([[0, 1]])
    assert (sources[:1] @ targets.T).argmax() == 0
    # 2 cos 24 - 1 = 0.827 and 2 cos 26 - cos 26 = 0.899, with one neighbour.
    assert csls_ranks(sources[:1], targets, sources, gold, 1).tolist() == [1]
    assert csls_ranks(sources[:1], targets, sources[:1], gold, 1).tolist() == [2]


def test_ties_rank_before_the_gold_target_unless_they_are_gold() -> None:
    targets = random_units(6, 4, 9)
    targets[3] = targets[0]
    queries = targets[[0, 0, 1]]
    ranks = csls_ranks(queries, targets, queries, np.array([[0, 0], [1, 0], [1, 3], [2, 1]]), 2)
    assert ranks.tolist() == [2, 1, 1]


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


def test_retrieval_by_hand_differs_by_direction() -> None:
    def at_angles(*degrees: float) -> np.ndarray:
        radians = np.deg2rad(degrees)
        return np.column_stack([np.cos(radians), np.sin(radians)])

    # Left 0 is nearest to 40 and left 50 to 45, their own; right 40 is nearer to 50 than to its own 0.
    forward, backward = parallel_hits(at_angles(0, 50), at_angles(40, 45))
    assert (forward.tolist(), backward.tolist()) == ([True, True], [False, True])


@pytest.mark.parametrize("block", [(1, 300), (40, 70), (4096, 8192)])
def test_retrieval_agrees_with_nearest_neighbours(block: tuple[int, int]) -> None:
    left = random_rows(257, 12, 6)
    right = left + 0.9 * random_rows(257, 12, 7)
    found = parallel_hits(left, right, block)

    def hits(queries: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        nearest = (
            NearestNeighbors(n_neighbors=1, metric="cosine").fit(candidates).kneighbors(queries)[1][:, 0]
        )
        own: np.ndarray = nearest == np.arange(len(queries))
        return own

    assert 0.1 < found[0].mean() < 0.9
    for own, expected in zip(found, (hits(left, right), hits(right, left)), strict=True):
        np.testing.assert_array_equal(own, expected)


def test_ties_are_misses_for_every_order_and_block_size() -> None:
    left = random_rows(301, 24, 8).astype(np.float32)
    left[100] = left[7] * 3  # the same direction twice: a tie
    right = left * 2
    for order in (np.arange(301), np.random.default_rng(9).permutation(301)):
        for block in ((1, 301), (17, 100), (4096, 8192)):
            assert [side.sum() for side in parallel_hits(left[order], right[order], block)] == [299, 299]
    assert not np.any(parallel_hits(np.ones((9, 4)), np.ones((9, 4)))), "a collapsed model finds nothing"


@pytest.mark.parametrize("documents", [4, 12, 300])
def test_ndcg_equals_trec_evals_and_scikit_learns(documents: int) -> None:
    generator = np.random.default_rng(documents)
    rows, others = generator.normal(size=(20, 8)), generator.normal(size=(documents, 8))
    grades = generator.integers(0, 4, size=(20, documents)) * (generator.random((20, documents)) < 0.4)
    grades[:, 0] = 1
    ours = ndcg(rows, others, [{int(d): float(line[d]) for d in np.flatnonzero(line)} for line in grades])
    units = [matrix / np.linalg.norm(matrix, axis=1, keepdims=True) for matrix in (rows, others)]
    cosines = units[0] @ units[1].T
    assert ours == pytest.approx(
        [ndcg_score([line], [own], k=10) for line, own in zip(grades, cosines, strict=True)]
    )
    judged = {str(q): {str(d): int(grade) for d, grade in enumerate(line)} for q, line in enumerate(grades)}
    run = {str(q): {str(d): float(cosine) for d, cosine in enumerate(line)} for q, line in enumerate(cosines)}
    found = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10"}).evaluate(run)
    assert ours == pytest.approx([found[str(q)]["ndcg_cut_10"] for q in range(20)], abs=1e-6)


def test_a_collapsed_encoder_and_ties_gain_nothing() -> None:
    same = np.ones((30, 4))
    assert ndcg(same[:2], same, [{3: 1.0}, {29: 2.0}]) == pytest.approx([0, 0])
    documents = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    # Row 0 ties with row 1, which is not relevant, so it has rank 2; of two relevant ones, the lower gain comes first.
    assert ndcg(documents[:1], documents, [{0: 1.0}]) == pytest.approx([1 / np.log2(3)])
    best = 2 + 1 / np.log2(3)
    assert ndcg(documents[:1], documents, [{0: 2.0, 1: 1.0}]) == pytest.approx([(1 + 2 / np.log2(3)) / best])
