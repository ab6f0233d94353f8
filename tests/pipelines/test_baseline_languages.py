"""A baseline without its language subspace, which is fitted on the training sentences."""

from __future__ import annotations

from pathlib import Path

import ibis
import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import load_encoder, save_encoder
from ease.encoders.whitening import language_directions, mean_embeddings
from ease.errors import EaseError
from ease.pipelines.evaluate.nodes import load_baseline
from ease.pipelines.evaluate.options import Baseline
from tests.encoders.test_whitening import BY_LANGUAGE as SENTENCES
from tests.encoders.test_whitening import make_encoder

TEXTS = [text for own in SENTENCES.values() for text in own]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("baseline") / "encoder"
    save_encoder(make_encoder(), folder)
    return folder


def make_pairs() -> ibis.Table:
    """Training pairs; each sentence is that of two pairs, which must not count twice."""
    rows = [(language, text) for language, own in SENTENCES.items() for text in own] * 2
    return ibis.memtable({"language": [row[0] for row in rows], "sentence": [row[1] for row in rows]})


def load(saved: Path, rank: int, pairs: ibis.Table | None) -> SentenceTransformer:
    return load_baseline(str(saved), Baseline(name=str(saved), language_rank=rank), pairs, None)


def test_the_directions_in_which_the_languages_differ_are_removed(saved: Path) -> None:
    plain = load_encoder(str(saved))
    directions = language_directions(mean_embeddings(plain, SENTENCES))[:2]
    before = plain.encode(TEXTS).astype(np.float64)
    after = load(saved, 2, make_pairs()).encode(TEXTS).astype(np.float64)
    np.testing.assert_allclose(after, before - before @ directions.T @ directions, atol=1e-5)
    np.testing.assert_array_equal(load(saved, 0, None).encode(TEXTS), before.astype(np.float32))


def test_without_training_pairs_the_command_that_makes_them_is_named(saved: Path) -> None:
    with pytest.raises(EaseError, match="make them by `kedro run --pipelines=train_multilingual"):
        load(saved, 2, None)


@pytest.mark.parametrize(
    ("languages", "rank", "message"),
    [
        (3, 3, "rank 3 is above 2, the number of directions in which the means of 3 languages differ: lower"),
        (12, 8, "rank 8 leaves nothing of 8 dimensions: set it below 8"),
    ],
)
def test_a_rank_that_is_too_high_is_named(saved: Path, languages: int, rank: int, message: str) -> None:
    codes = [f"l{number}" for number in range(languages)]
    pairs = ibis.memtable({"language": codes, "sentence": [f"a city {code}" for code in codes]})
    with pytest.raises(EaseError, match=message):
        load(saved, rank, pairs)
