"""Cosines of given pairs agree with scikit-learn, and unusable embeddings name the model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn.metrics.pairwise import cosine_similarity

from ease.errors import EaseError
from ease.evaluation.analysis.pairs import GivenPairsOptions, compare_given_pairs

PAIRS = (("one", "eins"), ("one", "zwei"), ("three", "drei"))


def encode(sentences: Sequence[str]) -> np.ndarray:
    return np.array(
        [np.random.default_rng([ord(letter) for letter in text]).normal(size=6) for text in sentences]
    )


def test_cosines_agree_with_scikit_learn() -> None:
    table = compare_given_pairs(
        {"a": encode, "b": lambda sentences: -(encode(sentences) ** 2)}, GivenPairsOptions(pairs=PAIRS)
    )
    assert table["model"].tolist() == ["a"] * 3 + ["b"] * 3
    assert list(zip(table["sentence1"], table["sentence2"], strict=True)) == [*PAIRS, *PAIRS]
    left, right = (encode([pair[side] for pair in PAIRS]) for side in (0, 1))
    expected = [
        *np.diagonal(cosine_similarity(left, right)),
        *np.diagonal(cosine_similarity(left**2, right**2)),
    ]
    assert table["cosine"].to_numpy() == pytest.approx(expected)


def test_printed_cosines_follow_those_of_the_encoders() -> None:
    options = GivenPairsOptions(pairs=PAIRS, printed={"DuEAM": (0.99, 0.98, 0.97)})
    table = compare_given_pairs({"a": encode}, options)
    assert table["model"].tolist() == ["a"] * 3 + ["DuEAM (printed)"] * 3
    assert table["cosine"].tolist()[3:] == [0.99, 0.98, 0.97]
    assert table["sentence2"].tolist() == 2 * ["eins", "zwei", "drei"]
    with pytest.raises(ValidationError, match="2 figures of DuEAM for 3 rows: give one for each"):
        GivenPairsOptions(pairs=PAIRS, printed={"DuEAM": (0.99, 0.98)})


def test_errors_name_the_model_and_the_option() -> None:
    with pytest.raises(EaseError, match="b: 3 of 3 rows of the left embeddings are zero vectors"):
        compare_given_pairs(
            {"a": encode, "b": lambda sentences: np.zeros((len(sentences), 2))},
            GivenPairsOptions(pairs=PAIRS),
        )
    with pytest.raises(ValidationError, match="pairs"):
        GivenPairsOptions(pairs=())
