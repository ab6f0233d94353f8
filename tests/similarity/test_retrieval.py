"""Retrieval, maps of spaces, CSLS, nDCG and mining equal their definitions, scikit-learn and trec_eval."""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval
from scipy.linalg import fractional_matrix_power, polar, sqrtm
from sklearn.metrics import ndcg_score
from sklearn.neighbors import NearestNeighbors

from ease.similarity import neighbours, retrieval
from ease.similarity.neighbours import mutual_neighbours
from ease.similarity.retrieval import best_pairs, csls_ranks, margin_scores, ndcg, parallel_csls_hits, parallel_hits
from ease.similarity.vectors import unit_rows


def random_rows(rows: int, dimension: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, dimension))


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
    return (rows[0] @ white[0] @ weights[0] @ colours[0], rows[1] @ white[1] @ weights[1] @ colours[1] @ rotation.T)


def test_the_common_space_is_vecmaps() -> None:
    source = random_rows(90, 8, 3) @ np.diag(np.linspace(0.3, 3, 8))
    target = source @ random_rows(8, 8, 4) + 0.4 * random_rows(90, 8, 5)
    maps = retrieval.common_space(source[:60], target[:60])
    found = [side @ one for side, one in zip((source, target), maps, strict=True)]
    expected = mapped_by_vecmap((source, target), 60)
    for left, right in ((0, 1), (0, 0), (1, 1)):
        np.testing.assert_allclose(found[left] @ found[right].T, expected[left] @ expected[right].T, atol=1e-6)


def test_directions_that_no_pair_has_are_mapped_onto_zero() -> None:
    few = np.hstack([random_rows(5, 12, 1), np.zeros((5, 1))])
    left, right = retrieval.common_space(few, few)
    np.testing.assert_allclose(few @ left @ right.T @ few.T, few @ few.T, atol=1e-5)
    np.testing.assert_allclose(left[12], 0, atol=1e-9)


@pytest.mark.parametrize(("block", "count"), [((7, 5), 1), ((64, 30), 10), ((4096, 8192), 10)])
def test_ranks_are_of_the_full_matrix(block: tuple[int, int], count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "BLOCK_SHAPE", block)
    sources, targets = (unit_rows(random_rows(rows, 6, rows)) for rows in (90, 130))
    queries = sources[20:65]
    generator = np.random.default_rng(8)
    gold = {(query, int(generator.integers(130))) for query in [*range(45), *range(0, 45, 3)]}
    # 2 cos(x, y) - r(x) - r(y) of all pairs
    cosines = queries.astype(np.float64) @ targets.T
    near_query = np.sort(cosines, axis=1)[:, -count:].mean(axis=1)
    near_target = np.sort(sources.astype(np.float64) @ targets.T, axis=0)[-count:].mean(axis=0)
    csls = 2 * cosines - near_query[:, None] - near_target[None, :]
    expected = []
    for query in range(45):
        right = {target for row, target in gold if row == query}
        best = max(csls[query, target] for target in right)
        expected.append(1 + sum(csls[query, target] >= best for target in range(130) if target not in right))
    ranks = csls_ranks(queries, targets, sources, np.array(sorted(gold)), count)
    np.testing.assert_array_equal(ranks, expected)
    assert len(gold) > 45
    assert 1 < np.median(expected) < 130


def test_ties_rank_before_the_gold_target_unless_they_are_gold() -> None:
    targets = unit_rows(random_rows(6, 4, 9))
    targets[3] = targets[0]
    queries = targets[[0, 0, 1]]
    ranks = csls_ranks(queries, targets, queries, np.array([[0, 0], [1, 0], [1, 3], [2, 1]]), 2)
    assert ranks.tolist() == [2, 1, 1]


@pytest.mark.parametrize("block", [(1, 300), (40, 70), (4096, 8192)])
def test_retrieval_agrees_with_nearest_neighbours(block: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "BLOCK_SHAPE", block)
    left = random_rows(257, 12, 6)
    right = left + 0.9 * random_rows(257, 12, 7)
    found = parallel_hits(left, right)
    assert 0.1 < found[0].mean() < 0.9
    for own, queries, candidates in zip(found, (left, right), (right, left), strict=True):
        nearest = NearestNeighbors(n_neighbors=1, metric="cosine").fit(candidates).kneighbors(queries)[1][:, 0]
        np.testing.assert_array_equal(own, nearest == np.arange(257))


@pytest.mark.parametrize("rows", [4, 60])
def test_parallel_hits_by_csls_are_those_of_the_full_matrix(rows: int) -> None:
    left = random_rows(rows, 6, 6)
    # Right row 0 is a hub, near all left rows.
    right = left + 0.9 * random_rows(rows, 6, 7)
    right[0] = left.mean(axis=0)
    cosines = unit_rows(left).astype(np.float64) @ unit_rows(right).T
    count = min(10, rows)
    near_left = np.sort(cosines, axis=1)[:, -count:].mean(axis=1)
    near_right = np.sort(cosines, axis=0)[-count:].mean(axis=0)
    csls = 2 * cosines - near_left[:, None] - near_right[None, :]
    forward, backward = parallel_csls_hits(left, right)
    np.testing.assert_array_equal(forward, csls.argmax(axis=1) == np.arange(rows))
    np.testing.assert_array_equal(backward, csls.argmax(axis=0) == np.arange(rows))
    if rows > 10:
        assert (np.array([forward, backward]) != np.array(parallel_hits(left, right))).any()


def test_ties_are_misses_for_every_order_and_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    left = random_rows(301, 24, 8).astype(np.float32)
    left[100] = left[7] * 3  # the same direction twice: a tie
    right = left * 2
    for order in (np.arange(301), np.random.default_rng(9).permutation(301)):
        for block in ((1, 301), (17, 100), (4096, 8192)):
            monkeypatch.setattr(neighbours, "BLOCK_SHAPE", block)
            assert [side.sum() for side in parallel_hits(left[order], right[order])] == [299, 299]
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
    assert ours == pytest.approx([ndcg_score([line], [own], k=10) for line, own in zip(grades, cosines, strict=True)])
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


@pytest.mark.parametrize("block", [(11, 5), (1000, 7), (4096, 8192)])
def test_a_pair_that_ties_with_a_wrong_one_is_wrong(block: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "BLOCK_SHAPE", block)
    targets = random_rows(60, 16, 11).astype(np.float32)
    targets[40] = 3 * targets[12]
    queries = targets[[12, 40, 5]] + 0.01
    forward, backward = mutual_neighbours(queries, targets, 4)
    for scores in (forward.cosines, margin_scores(forward, backward)):
        one_each = best_pairs(scores, forward.rows, np.array([[0, 12], [1, 40], [2, 5]]))
        np.testing.assert_array_equal(one_each.right, [False, False, True])
        both_right = best_pairs(scores, forward.rows, np.array([[0, 12], [0, 40], [2, 5]]))
        np.testing.assert_array_equal(both_right.right, [True, False, True])


@pytest.mark.parametrize("seed", range(3))
def test_no_threshold_is_better_than_the_best(seed: int) -> None:
    generator = np.random.default_rng(seed)
    scores = generator.integers(0, 40, 60) / 7 - 2  # with equal scores among them
    right = generator.uniform(0, 1, 60) < np.where(scores > 1, 0.7, 0.1)
    gold = int(right.sum()) + 5
    threshold = retrieval.best_threshold(retrieval.MinedPairs(scores, right, gold))
    places = {value: scores >= value for value in (threshold, *scores)}
    tried = {value: 2 * np.sum(right & found) / (np.sum(found) + gold) for value, found in places.items()}
    best = tried[threshold]
    assert best == max(tried.values())
    assert threshold not in scores or threshold == scores.min()
    highest = max(value for value in scores if tried[value] == best)
    assert threshold <= highest
    assert not ((scores < highest) & (scores >= threshold)).any()
