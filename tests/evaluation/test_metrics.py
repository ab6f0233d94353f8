"""Metrics against hand-worked numbers and independent computations."""

from __future__ import annotations

import logging
import tracemalloc

import mteb
import numpy as np
import pytest
from datasets import Dataset
from mteb.timing import TimingStack
from scipy.stats import pearsonr, rankdata
from sklearn.metrics.pairwise import cosine_similarity, paired_cosine_distances
from sklearn.neighbors import NearestNeighbors

from ease.errors import EaseError
from ease.evaluation.metrics import (
    cosine_spearman,
    normalize_rows,
    pairwise_cosine,
    parallel_accuracy,
    row_lengths,
    spearman,
)


def random_rows(rows: int, dimension: int, seed: int) -> np.ndarray:
    """Rows drawn from a normal distribution."""
    return np.random.default_rng(seed).standard_normal((rows, dimension))


def test_pairwise_cosine_by_hand() -> None:
    left = [[1, 0], [3, 4], [1, 1]]
    right = [[0, 2], [3, 4], [-1, -1]]
    np.testing.assert_allclose(pairwise_cosine(left, right), [0, 1, -1], atol=1e-12)


def test_pairwise_cosine_agrees_with_scikit_learn() -> None:
    left, right = random_rows(200, 16, 1), random_rows(200, 16, 2)
    np.testing.assert_allclose(
        pairwise_cosine(left, right), 1 - paired_cosine_distances(left, right), atol=1e-12
    )


def test_rows_of_extreme_length_keep_their_direction() -> None:
    tiny = normalize_rows(np.array([[3e-200, 4e-200], [3e200, 4e200]]))
    np.testing.assert_allclose(tiny, [[0.6, 0.8], [0.6, 0.8]])


def test_lengths_of_many_rows_are_those_of_numpy() -> None:
    rows = random_rows(600_000, 8, 15).astype(np.float32)  # more than one block
    np.testing.assert_allclose(row_lengths(rows), np.linalg.norm(rows.astype(float), axis=1), rtol=1e-12)
    rows[599_999] = 0
    with pytest.raises(EaseError, match="1 of 600000 rows of the queries are zero vectors, first row 599999"):
        row_lengths(rows, "queries")


def test_spearman_by_hand() -> None:
    # Ranks 1 2 3 4 5 against 2 1 4 3 5: squared differences sum to 4, so 1 - 6 * 4 / (5 * 24) = 0.8.
    result = spearman([0.1, 0.2, 0.3, 0.4, 0.5], [2, 1, 4, 3, 5])
    assert result.value == pytest.approx(0.8)
    assert (result.scored, result.unscored) == (5, 0)


def test_spearman_with_ties_is_the_correlation_of_mean_ranks() -> None:
    generator = np.random.default_rng(3)
    similarities, gold = generator.integers(0, 9, 300), generator.integers(0, 6, 300)
    expected = pearsonr(rankdata(similarities), rankdata(gold)).statistic
    assert spearman(similarities, gold).value == pytest.approx(expected)


def test_unscored_rows_are_left_out_and_counted() -> None:
    result = spearman([0.1, 9.0, 0.2, 0.3], [1.0, np.nan, 2.0, 3.0])
    assert result.value == pytest.approx(1.0)
    assert (result.scored, result.unscored) == (3, 1)


def test_cosine_spearman_ignores_the_length_of_rows() -> None:
    left, right, gold = random_rows(50, 8, 4), random_rows(50, 8, 5), np.arange(50)
    lengths = np.linspace(0.1, 9, 50)[:, None]
    assert cosine_spearman(left * lengths, right, gold) == cosine_spearman(left, right, gold)


def test_a_collapsed_model_scores_zero_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert cosine_spearman(np.ones((4, 3)), np.ones((4, 3)), [1, 2, 3, 4]).value == 0.0
    assert "equal" in caplog.text


def test_retrieval_by_hand_differs_by_direction() -> None:
    def at_angles(*degrees: float) -> np.ndarray:
        radians = np.deg2rad(degrees)
        return np.column_stack([np.cos(radians), np.sin(radians)])

    # Left 0 is nearest to 40 and left 50 to 45, their own; right 40 is nearer to 50 than to its own 0.
    accuracy = parallel_accuracy(at_angles(0, 50), at_angles(40, 45))
    assert (accuracy.forward, accuracy.backward, accuracy.average) == (1.0, 0.5, 0.75)


@pytest.mark.parametrize("block_elements", [1, 700, 4_000_000])
def test_retrieval_agrees_with_nearest_neighbours(block_elements: int) -> None:
    left = random_rows(257, 12, 6)
    right = left + 0.9 * random_rows(257, 12, 7)
    accuracy = parallel_accuracy(left, right, block_elements)

    def hits(queries: np.ndarray, candidates: np.ndarray) -> float:
        nearest = (
            NearestNeighbors(n_neighbors=1, metric="cosine").fit(candidates).kneighbors(queries)[1][:, 0]
        )
        return float(np.mean(nearest == np.arange(len(queries))))

    assert 0.1 < accuracy.forward < 0.9
    assert accuracy.forward != accuracy.backward
    assert (accuracy.forward, accuracy.backward) == (hits(left, right), hits(right, left))
    assert accuracy.average == pytest.approx((hits(left, right) + hits(right, left)) / 2)


def test_ties_are_misses_whatever_the_order_and_the_blocks() -> None:
    left = random_rows(301, 24, 8).astype(np.float32)
    left[100] = left[7] * 3  # the same direction twice: neither can be told from the other
    right = left * 2
    for order in (np.arange(301), np.random.default_rng(9).permutation(301)):
        for block_elements in (301, 5_000, 4_000_000):
            accuracy = parallel_accuracy(left[order], right[order], block_elements)
            assert accuracy.forward == accuracy.backward == 299 / 301


def test_a_collapsed_model_retrieves_nothing() -> None:
    assert parallel_accuracy(np.ones((9, 4)), np.ones((9, 4))).average == 0.0


def test_retrieval_holds_a_block_at_a_time() -> None:
    rows = random_rows(3_000, 4, 10)
    tracemalloc.start()
    parallel_accuracy(rows, rows, block_elements=30_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3_000 * 3_000 * 8 / 20  # all similarities at once take 72 MB


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        (np.ones((3, 2)), np.ones((2, 2)), r"\(3, 2\).*\(2, 2\)"),
        (np.ones((3, 2)), np.ones((3, 4)), r"\(3, 2\).*\(3, 4\)"),
        (np.ones(3), np.ones(3), r"left embeddings have shape \(3,\)"),
        (
            [[1, 1], [0, 0]],
            [[1, 1], [1, 1]],
            "1 of 2 rows of the left embeddings are zero vectors, first row 1",
        ),
        (
            [[1, 1], [1, 1]],
            [[1, np.nan], [1, 1]],
            "1 of 2 rows of the right embeddings hold NaN.*first row 0",
        ),
    ],
)
def test_unusable_embeddings_are_refused(left: object, right: object, said: str) -> None:
    for metric in (pairwise_cosine, parallel_accuracy):
        with pytest.raises(EaseError, match=said):
            metric(left, right)


@pytest.mark.parametrize(
    ("similarities", "gold", "said"),
    [
        ([1, 2, 3], [1, 2], "give one of each"),
        ([1, 2, 3], [np.nan, np.nan, 3], "1 of 3 sentence pairs have a gold score"),
        ([1, 2, 3], [4, 4, 4], "All 3 gold scores are 4"),
        ([1, np.nan, 3], [1, 2, 3], "1 of 3 similarities are NaN"),
    ],
)
def test_unusable_scores_are_refused(similarities: list[float], gold: list[float], said: str) -> None:
    with pytest.raises(EaseError, match=said):
        spearman(similarities, gold)


def test_one_candidate_is_too_few() -> None:
    with pytest.raises(EaseError, match="at least 2 candidates"):
        parallel_accuracy([[1.0, 2.0]], [[1.0, 2.0]])


def test_retrieval_agrees_with_mteb() -> None:
    left = random_rows(120, 10, 13)
    rows = {"sentence1": left, "sentence2": left + 1.1 * random_rows(120, 10, 14)}

    class Rows:
        """What stands for sentence i of a side is its row."""

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

    ours = parallel_accuracy(rows["sentence1"], rows["sentence2"])
    assert 0.2 < ours.forward < 0.9
    assert ours.forward == pytest.approx(accuracy("sentence1", "sentence2"))
    assert ours.backward == pytest.approx(accuracy("sentence2", "sentence1"))
