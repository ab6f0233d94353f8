"""Isotropy and the mean vector equal plain loops and known values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ease.errors import EaseError
from ease.evaluation.analysis.spread import IsotropyOptions, compare_isotropy
from ease.evaluation.encodes import Encode
from ease.evaluation.metrics import isotropy_score, mean_vector_norm
from ease.evaluation.tasks.graded_pairs import GradedPair

OPTIONS = IsotropyOptions(graded="stsb:dev")


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
def test_both_equal_plain_loops(shift: float) -> None:
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


def test_the_score_does_not_depend_on_the_axes_or_on_their_direction() -> None:
    generator = np.random.default_rng(1)
    embeddings = generator.normal(loc=0.3, size=(50, 6)) * np.arange(1, 7)
    turned, _ = np.linalg.qr(generator.normal(size=(6, 6)))
    expected = isotropy_score(embeddings)
    for alike in (-embeddings, embeddings @ turned, embeddings[::-1]):
        assert isotropy_score(alike) == pytest.approx(expected, rel=1e-9)


def test_long_vectors_do_not_overflow() -> None:
    embeddings = np.tile([900.0, 0.0], (3, 1))
    assert isotropy_score(embeddings) == 0
    assert isotropy_score(embeddings / 100) == pytest.approx(math.exp(-18))


def by_number(sentences: object) -> np.ndarray:
    """Encode each number as its own direction."""
    return np.array([np.random.default_rng(int(text)).normal(loc=1, size=3) for text in sentences])  # type: ignore[attr-defined]


PAIRS = [GradedPair(str(n), str(n + 1), 1.0) for n in range(20)]


def test_a_table_counts_each_sentence_once_and_averages_subsets() -> None:
    sets = {"x": PAIRS, "y": PAIRS[:5]}
    long: Encode = lambda sentences: 10 * by_number(sentences)  # noqa: E731
    table = compare_isotropy({"short": by_number, "long": long}, sets, OPTIONS)
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
        {"short": by_number, "long": long}, {"x": PAIRS}, OPTIONS.model_copy(update={"normalize": True})
    )
    assert unit["isotropy"][0] == pytest.approx(unit["isotropy"][1])
    assert unit["mean_length"].tolist() == [1, 1]
    scaled = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert unit["mean_vector_norm"][0] == pytest.approx(mean_vector_norm(scaled))


def test_a_seeded_sample_is_drawn_from_many_sentences() -> None:
    drawn = [
        compare_isotropy(
            {"m": by_number}, {"x": PAIRS}, OPTIONS.model_copy(update={"max_sentences": 9, "seed": seed})
        )
        for seed in (0, 0, 1)
    ]
    assert all(table["sentences"].tolist() == [9] for table in drawn)
    assert drawn[0].equals(drawn[1])
    assert drawn[0]["isotropy"][0] != drawn[2]["isotropy"][0]


def test_impossible_measurements_are_refused() -> None:
    broken: Encode = lambda sentences: np.full((len(sentences), 2), np.nan)  # noqa: E731
    zero: Encode = lambda sentences: np.zeros((len(sentences), 2))  # noqa: E731
    for encode, said in ((broken, "NaN"), (zero, "zero vectors")):
        with pytest.raises(EaseError, match=f"^m, de-en: .*{said}"):
            compare_isotropy({"m": encode}, {"de-en": PAIRS}, OPTIONS)
    with pytest.raises(EaseError, match="No embedding"):
        isotropy_score(np.empty((0, 3)))
