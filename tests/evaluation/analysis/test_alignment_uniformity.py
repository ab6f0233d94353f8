"""Alignment and uniformity equal plain loops, other libraries and known values."""

from __future__ import annotations

import csv
import math
import tracemalloc
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import HashingVectorizer

from ease.errors import EaseError
from ease.evaluation.analysis.pairs import graded_pairs
from ease.evaluation.analysis.spread import (
    AlignmentOptions,
    alignment,
    compare_alignment_uniformity,
    uniformity,
)
from ease.evaluation.encodes import Encode
from ease.evaluation.tasks import get_task
from ease.evaluation.tasks.graded_pairs import GradedPair

stsb = get_task("stsb")

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


def test_uniformity_of_random_points_is_near_the_minimum() -> None:
    many = np.random.default_rng(0).normal(size=(2000, 512))
    # Random directions in so many dimensions are almost orthogonal: exp(−4), plus a little for their spread.
    assert uniformity(many) == pytest.approx(-4 + 8 / 512, abs=2e-3)


def test_a_seeded_sample_approximates_all_sentences() -> None:
    embeddings = np.random.default_rng(1).normal(loc=0.4, size=(3000, 5))
    exact = uniformity(embeddings)
    drawn = [uniformity(embeddings, max_sentences=1500, seed=seed) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn == pytest.approx([exact] * 3, abs=0.02)
    assert all(abs(value - exact) > 1e-9 for value in drawn)
    assert uniformity(embeddings, max_sentences=3000, seed=1) == exact


def test_a_sentence_is_never_drawn_twice() -> None:
    assert uniformity(np.eye(99), max_sentences=90) == pytest.approx(-4, abs=1e-12)


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
    with pytest.raises(EaseError, match="1 sentence.*at least 2"):
        uniformity([[1.0, 2.0]])
    with pytest.raises(EaseError, match="No positive pair"):
        alignment(np.empty((0, 3)), np.empty((0, 3)))


def test_sts_benchmark_equals_what_pytorch_computes(test_data: Path) -> None:
    folder = test_data / "eval" / "stsb"
    vectorizer = HashingVectorizer(n_features=256, alternate_sign=False, norm=None)
    bags: Encode = lambda sentences: vectorizer.transform(list(sentences)).toarray().astype(np.float32) + 0.1  # noqa: E731
    pairs = graded_pairs("stsb", stsb.options(path=folder, subsets=("dev",)))
    found = compare_alignment_uniformity({"bags": bags}, pairs, OPTIONS).iloc[0]

    with (folder / "sts-dev.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    sentences = sorted({sentence for row in rows for sentence in row[5:7]})
    positive = [row for row in rows if float(row[4]) > 4]
    assert (found["positives"], found["sentences"]) == (len(positive), len(sentences))

    def unit(texts: Sequence[str]) -> torch.Tensor:
        return torch.nn.functional.normalize(torch.from_numpy(bags(texts)).double())

    distance = (unit([row[5] for row in positive]) - unit([row[6] for row in positive])).norm(dim=1) ** 2
    potential = torch.exp(-2 * torch.pdist(unit(sentences)) ** 2)
    assert found["alignment"] == pytest.approx(distance.mean().item(), rel=1e-9)
    assert found["uniformity"] == pytest.approx(potential.mean().log().item(), rel=1e-9)
