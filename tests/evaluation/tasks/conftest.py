"""A simple encoder for the tests of tasks, and a check of every score that they make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer

from ease.evaluation.scores import Score
from ease.similarity.encode import Encode
from tests.evaluation.made_tasks import make_task


@pytest.fixture(scope="session")
def encode() -> Encode:
    """Encode sentences as hashed bags of words, which suffices to rank graded pairs."""
    vectorizer = HashingVectorizer(n_features=512, alternate_sign=False, token_pattern=r"\S+")

    def encode_bags(sentences: Sequence[str]) -> np.ndarray:
        bags: np.ndarray = vectorizer.transform(list(sentences)).toarray().astype(np.float32)
        return bags

    return encode_bags


def evaluate(name: str, encode: Encode, path: Path, **options: Any) -> dict[tuple[str, str], Score]:
    scores = make_task(name, path, **options).evaluate(encode)
    return {(score.subset, score.metric): score for score in scores}


@pytest.fixture(autouse=True)
def _items_give_the_scores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check for every score of these tests that its items, if it has some, give its value."""
    made: list[Score] = []
    plain = Score.__init__

    def remembered(score: Score, *given: Any, **named: Any) -> None:
        plain(score, *given, **named)
        made.append(score)

    monkeypatch.setattr(Score, "__init__", remembered)
    yield
    for score in made:
        if score.items is not None:
            assert score.items.value() == pytest.approx(score.value, abs=0.05)
