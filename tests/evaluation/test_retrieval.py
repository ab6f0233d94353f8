"""Parallel retrieval, maps of spaces and CSLS ranks equal their definitions, scikit-learn and MTEB."""

from __future__ import annotations

import mteb
import numpy as np
import pytest
from datasets import Dataset
from mteb.timing import TimingStack
from scipy.linalg import fractional_matrix_power, polar, sqrtm
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import NearestNeighbors

from ease.errors import EaseError
from ease.evaluation.retrieval import common_space, csls_ranks, parallel_hits, unit_rows


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


@pytest.mark.parametrize("shapes", [((0, 3), (0, 3)), ((4, 3), (4, 2)), ((4, 3), (5, 3))])
def test_a_map_needs_pairs_of_one_dimension(shapes: tuple[tuple[int, int], tuple[int, int]]) -> None:
    with pytest.raises(EaseError, match=r"learnt from at least one pair"):
        common_space(np.ones(shapes[0]), np.ones(shapes[1]))


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
    assert not unit_rows(np.array([[1.0, 0.0], [2.0, 0.0]]), center=True).any(), "both are the mean"


def test_retrieval_by_hand_differs_by_direction() -> None:
    def at_angles(*degrees: float) -> np.ndarray:
        radians = np.deg2rad(degrees)
        return np.column_stack([np.cos(radians), np.sin(radians)])

    # Left 0 is nearest to 40 and left 50 to 45, their own; right 40 is nearer to 50 than to its own 0.
    accuracy = parallel_hits(at_angles(0, 50), at_angles(40, 45)).accuracy
    assert (accuracy.forward, accuracy.backward, accuracy.average) == (1.0, 0.5, 0.75)


@pytest.mark.parametrize("block", [(1, 300), (40, 70), (4096, 8192)])
def test_retrieval_agrees_with_nearest_neighbours(block: tuple[int, int]) -> None:
    left = random_rows(257, 12, 6)
    right = left + 0.9 * random_rows(257, 12, 7)
    accuracy = parallel_hits(left, right, block).accuracy

    def hits(queries: np.ndarray, candidates: np.ndarray) -> float:
        nearest = (
            NearestNeighbors(n_neighbors=1, metric="cosine").fit(candidates).kneighbors(queries)[1][:, 0]
        )
        return float(np.mean(nearest == np.arange(len(queries))))

    assert 0.1 < accuracy.forward < 0.9
    assert accuracy.forward != accuracy.backward
    assert (accuracy.forward, accuracy.backward) == (hits(left, right), hits(right, left))
    assert accuracy.average == pytest.approx((hits(left, right) + hits(right, left)) / 2)


def test_ties_are_misses_for_every_order_and_block_size() -> None:
    left = random_rows(301, 24, 8).astype(np.float32)
    left[100] = left[7] * 3  # the same direction twice: a tie
    right = left * 2
    for order in (np.arange(301), np.random.default_rng(9).permutation(301)):
        for block in ((1, 301), (17, 100), (4096, 8192)):
            accuracy = parallel_hits(left[order], right[order], block).accuracy
            assert accuracy.forward == accuracy.backward == 299 / 301


def test_a_collapsed_model_retrieves_nothing() -> None:
    assert parallel_hits(np.ones((9, 4)), np.ones((9, 4))).accuracy.average == 0.0


def test_a_single_candidate_is_refused() -> None:
    with pytest.raises(EaseError, match="at least 2 candidates"):
        parallel_hits([[1.0, 2.0]], [[1.0, 2.0]])


def test_retrieval_agrees_with_mteb() -> None:
    left = random_rows(120, 10, 13)
    rows = {"sentence1": left, "sentence2": left + 1.1 * random_rows(120, 10, 14)}

    class Rows:
        """Encodes sentence i of a side as row i."""

        def encode(self, inputs: object, **_: object) -> np.ndarray:
            names = [name for batch in inputs for name in batch["text"]]  # type: ignore[attr-defined]
            return np.stack([rows[side][int(number)] for side, number in map(str.split, names)])

        def similarity(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
            return cosine_similarity(one, other)

    def accuracy(query: str, candidate: str) -> float:
        task = mteb.get_task("Tatoeba")
        sides = {"sentence1": query, "sentence2": candidate}
        texts = {name: [f"{side} {number}" for number in range(120)] for name, side in sides.items()}
        where = {"hf_split": "test", "hf_subset": "deu-eng"}
        data = Dataset.from_dict(texts)
        scores = task._evaluate_subset(Rows(), data, **where, encode_kwargs={}, timer=TimingStack())
        return float(scores["accuracy"])

    ours = parallel_hits(rows["sentence1"], rows["sentence2"]).accuracy
    assert 0.2 < ours.forward < 0.9
    assert ours.forward == pytest.approx(accuracy("sentence1", "sentence2"))
    assert ours.backward == pytest.approx(accuracy("sentence2", "sentence1"))


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        (np.ones((3, 2)), np.ones((2, 2)), r"\(3, 2\).*\(2, 2\)"),
        (np.ones(3), np.ones(3), r"queries have shape \(3,\)"),
        ([[1, 1], [0, 0]], [[1, 1], [1, 1]], "1 of 2 rows of the queries are zero vectors, first row 1"),
        ([[1, 1], [1, 1]], [[1, np.nan], [1, 1]], "1 of 2 rows of the targets contain NaN.*first row 0"),
    ],
)
def test_unusable_parallel_embeddings_are_refused(left: object, right: object, said: str) -> None:
    with pytest.raises(EaseError, match=said):
        parallel_hits(left, right)
