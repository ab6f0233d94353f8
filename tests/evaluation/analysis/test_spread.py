"""Alignment, uniformity and isotropy equal plain loops and known values."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from ease.errors import EaseError
from ease.evaluation.analysis.graded import (
    AlignmentOptions,
    IsotropyOptions,
    alignment,
    compare_alignment_uniformity,
    compare_isotropy,
    uniformity,
)
from ease.evaluation.encodes import Encode
from ease.evaluation.metrics import isotropy_score, mean_vector_norm
from ease.evaluation.tasks.graded_pairs import GradedPair

OPTIONS = AlignmentOptions(graded="stsb:dev")


def encode_by(vectors: dict[str, list[float]]) -> Encode:
    """Return an encoder with a given vector for each sentence."""
    return lambda sentences: np.array([vectors[sentence] for sentence in sentences], dtype=np.float32)


def squared_distance(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the squared distance of two normalised vectors, computed number by number."""
    lengths = [math.sqrt(math.fsum(x * x for x in vector)) for vector in (first, second)]
    return math.fsum((a / lengths[0] - b / lengths[1]) ** 2 for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("block_elements", [1, 100, 777, 10**6])
def test_both_equal_plain_double_loops(block_elements: int) -> None:
    random = np.random.default_rng(3)
    embeddings = random.normal(loc=0.3, size=(57, 7)) * random.uniform(0.01, 90, size=(57, 1))
    others = embeddings + random.normal(scale=0.5, size=embeddings.shape)
    rows = embeddings.tolist()
    distances = [squared_distance(*pair) for pair in zip(rows, others.tolist(), strict=True)]
    assert alignment(embeddings, others) == pytest.approx(math.fsum(distances) / 57, rel=1e-12)
    potentials = [math.exp(-2 * squared_distance(*pair)) for pair in combinations(rows, 2)]
    expected = math.log(math.fsum(potentials) / len(potentials))
    assert uniformity(embeddings, block_elements=block_elements) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("cosine", "distance"), [(1, 0), (0, 2), (-1, 4)])
def test_two_points_have_known_values(cosine: int, distance: int) -> None:
    left = np.array([[3.0, 0.0]])
    right = np.array([[cosine * 0.5, 0.5 * (1 - abs(cosine))]])
    assert alignment(left, right) == pytest.approx(distance, abs=1e-12)
    assert uniformity(np.vstack([left, right])) == pytest.approx(-2 * distance, abs=1e-12)


def test_a_seeded_sample_approximates_all_sentences() -> None:
    embeddings = np.random.default_rng(1).normal(loc=0.4, size=(3000, 5))
    exact = uniformity(embeddings)
    drawn = [uniformity(embeddings, max_sentences=1500, seed=seed) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn == pytest.approx([exact] * 3, abs=0.02)
    assert all(abs(value - exact) > 1e-9 for value in drawn)
    assert uniformity(embeddings, max_sentences=3000, seed=1) == exact


def test_memory_does_not_grow_with_the_number_of_pairs() -> None:
    embeddings = np.random.default_rng(2).normal(size=(4000, 8))
    tracemalloc.start()
    uniformity(embeddings, block_elements=100_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6, "all similarities at once are 128 MB"


GRADED = [
    GradedPair("a", "b", 5.0),
    GradedPair("a", "c", 4.0),
    GradedPair("b", "a", 4.5),
    GradedPair("c", "d", math.nan),
]
VECTORS = {"a": [1.0, 0.0], "b": [0.0, 2.0], "c": [-1.0, 0.0], "d": [0.0, -1.0]}


def test_a_table_counts_positive_pairs_and_distinct_sentences_and_averages_subsets() -> None:
    same = {sentence: [0.5, 0.5] for sentence in VECTORS}
    sets = {"x": GRADED, "y": [GradedPair("a", "c", 5.0)]}
    table = compare_alignment_uniformity(
        {"square": encode_by(VECTORS), "point": encode_by(same)}, sets, OPTIONS
    )
    assert table[["model", "subset"]].values.tolist() == [
        [model, subset] for model in ("square", "point") for subset in ("x", "y", "average")
    ]
    x, y, average, *point = table.drop(columns=["model", "subset"]).to_dict("records")
    # Four of the six pairs of a square's corners have distance √2, two are opposite.
    corners = math.log((4 * math.exp(-4) + 2 * math.exp(-8)) / 6)
    assert x == pytest.approx({"alignment": 2, "uniformity": corners, "positives": 2, "sentences": 4})
    assert y == pytest.approx({"alignment": 4, "uniformity": -8, "positives": 1, "sentences": 2})
    means = {"alignment": 3, "uniformity": (corners - 8) / 2, "positives": 3, "sentences": 6}
    assert average == pytest.approx(means)
    assert all(row["alignment"] == pytest.approx(row["uniformity"], abs=1e-12) == 0 for row in point)


def test_impossible_measurements_are_refused() -> None:
    with pytest.raises(EaseError, match="^m, de-en: none of 4 pairs is graded higher than 5; lower `above`"):
        compare_alignment_uniformity(
            {"m": encode_by(VECTORS)}, {"de-en": GRADED}, OPTIONS.model_copy(update={"above": 5.0})
        )
    broken = {**VECTORS, "d": [math.nan, 0.0]}
    with pytest.raises(EaseError, match="^m, de-en: .*NaN"):
        compare_alignment_uniformity({"m": encode_by(broken)}, {"de-en": GRADED}, OPTIONS)


ISOTROPY = IsotropyOptions(graded="stsb:dev")


def loop_score(embeddings: np.ndarray) -> float:
    """Return equation 2 term by term, for both signs of every eigenvector."""
    _, columns = np.linalg.eig(np.array([[a @ b for b in embeddings.T] for a in embeddings.T]))
    sums = []
    for direction in columns.T.real:
        for sign in (1, -1):
            unit = [sign * float(x) for x in direction]
            sums.append(
                math.fsum(
                    math.exp(math.fsum(c * float(x) for c, x in zip(unit, row, strict=True)))
                    for row in embeddings
                )
            )
    return min(sums) / max(sums)


@pytest.mark.parametrize("shift", [0.0, 0.4, 2.0])
def test_isotropy_and_mean_equal_plain_loops(shift: float) -> None:
    embeddings = np.random.default_rng(4).normal(loc=shift, size=(40, 5)) * [1, 2, 0.5, 0.1, 1]
    assert isotropy_score(embeddings) == pytest.approx(loop_score(embeddings), rel=1e-9)
    mean = [math.fsum(column) / 40 for column in embeddings.T]
    assert mean_vector_norm(embeddings) == pytest.approx(math.sqrt(math.fsum(x * x for x in mean)))


def test_known_arrangements() -> None:
    cross = np.concatenate([np.eye(3), -np.eye(3)])
    assert isotropy_score(cross) == pytest.approx(1), "the same in all directions"
    assert mean_vector_norm(cross) == pytest.approx(0)
    same = np.tile([3.0, 0.0], (7, 1))
    assert isotropy_score(same) == pytest.approx(math.exp(-6)), "against the one vector, over along it"
    assert mean_vector_norm(same) == pytest.approx(3)


def test_long_vectors_do_not_overflow() -> None:
    embeddings = np.tile([900.0, 0.0], (3, 1))
    assert isotropy_score(embeddings) == 0
    assert isotropy_score(embeddings / 100) == pytest.approx(math.exp(-18))


def by_number(sentences: object) -> np.ndarray:
    """Encode each number as its own direction."""
    return np.array([np.random.default_rng(int(text)).normal(loc=1, size=3) for text in sentences])  # type: ignore[attr-defined]


PAIRS = [GradedPair(str(n), str(n + 1), 1.0) for n in range(20)]


def test_isotropy_counts_each_sentence_once_and_averages_subsets() -> None:
    sets = {"x": PAIRS, "y": PAIRS[:5]}
    long: Encode = lambda sentences: 10 * by_number(sentences)  # noqa: E731
    table = compare_isotropy({"short": by_number, "long": long}, sets, ISOTROPY)
    assert table[["model", "subset"]].values.tolist() == [
        [model, subset] for model in ("short", "long") for subset in ("x", "y", "average")
    ]
    assert table["sentences"].tolist() == [21, 6, 27] * 2
    x, y, average = table.head(3).to_dict("records")
    rows = by_number([str(n) for n in range(21)])
    assert x["isotropy"] == pytest.approx(isotropy_score(rows))
    assert x["mean_vector_norm"] == pytest.approx(mean_vector_norm(rows))
    assert x["mean_length"] == pytest.approx(np.linalg.norm(rows, axis=1).mean())
    for measure in ("isotropy", "mean_vector_norm", "mean_length"):
        assert average[measure] == pytest.approx((x[measure] + y[measure]) / 2)
    assert table["mean_vector_norm"][3] == pytest.approx(10 * x["mean_vector_norm"]), "as they come"
    unit = compare_isotropy(
        {"short": by_number, "long": long}, {"x": PAIRS}, ISOTROPY.model_copy(update={"normalize": True})
    )
    assert unit["isotropy"][0] == pytest.approx(unit["isotropy"][1])
    assert unit["mean_length"].tolist() == [1, 1]
    scaled = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert unit["mean_vector_norm"][0] == pytest.approx(mean_vector_norm(scaled))


def test_isotropy_of_unusable_embeddings_is_refused() -> None:
    broken: Encode = lambda sentences: np.full((len(sentences), 2), np.nan)  # noqa: E731
    zero: Encode = lambda sentences: np.zeros((len(sentences), 2))  # noqa: E731
    for encode, said in ((broken, "NaN"), (zero, "zero vectors")):
        with pytest.raises(EaseError, match=f"^m, de-en: .*{said}"):
            compare_isotropy({"m": encode}, {"de-en": PAIRS}, ISOTROPY)
