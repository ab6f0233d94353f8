"""The language subspace: found by the means of the languages, and removed by a saved module."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize

from ease.encoders.encoder import build_encoder, load_encoder, save_encoder
from ease.encoders.language_subspace import (
    language_directions,
    mean_embeddings,
    remove_directions,
)
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.errors import EaseError

SENTENCES = {
    "en": ["a large city", "a river", "many people live here"],
    "ru": ["большой город", "река", "здесь живут люди"],
    "ja": ["大きな都市", "川がある"],
}


def make_encoder() -> SentenceTransformer:
    """Return a BERT of 8 dimensions."""
    sizes = {"layers": 1, "hidden_size": 8, "heads": 2, "intermediate_size": 8, "vocabulary_size": 300}
    texts = [text for own in SENTENCES.values() for text in own]
    return build_encoder(EncoderOptions(random=RandomBertOptions(**sizes)), texts * 3)


def unit(rows: np.ndarray) -> np.ndarray:
    lengths: np.ndarray = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / lengths


def test_the_means_are_those_of_unit_embeddings() -> None:
    encoder = make_encoder()
    means = mean_embeddings(encoder, SENTENCES)
    for language, texts in SENTENCES.items():
        expected = unit(encoder.encode(texts).astype(np.float64)).mean(axis=0)
        np.testing.assert_allclose(means[language], expected, rtol=1e-5, atol=1e-7)


def test_planted_directions_are_found_and_removed() -> None:
    random = np.random.default_rng(0)
    basis = np.linalg.qr(random.normal(size=(12, 12)))[0]
    common = 3 * basis[5]
    means = {f"l{number}": common + (random.normal(size=2) * (5, 1)) @ basis[:2] for number in range(6)}
    directions = language_directions(means)
    assert directions.shape == (5, 12)
    np.testing.assert_allclose(directions @ directions.T, np.eye(5), atol=1e-12)
    found = directions[:2]
    np.testing.assert_allclose(found.T @ found, basis[:2].T @ basis[:2], atol=1e-8)


@pytest.mark.parametrize("normalised", [False, True])
def test_the_projection_is_saved_with_the_encoder(tmp_path: Path, normalised: bool) -> None:
    encoder = make_encoder()
    if normalised:
        encoder.append(Normalize())
    texts = [text for own in SENTENCES.values() for text in own]
    before = encoder.encode(texts).astype(np.float64)
    directions = language_directions(mean_embeddings(encoder, SENTENCES))[:2]
    remove_directions(encoder, directions)
    save_encoder(encoder, tmp_path / "encoder")
    after = load_encoder(str(tmp_path / "encoder")).encode(texts).astype(np.float64)
    expected = before - before @ directions.T @ directions
    np.testing.assert_allclose(after, unit(expected) if normalised else expected, atol=1e-5)
    assert np.abs(after @ directions.T).max() < 1e-5
    means = mean_embeddings(encoder, SENTENCES)
    assert np.linalg.matrix_rank(np.stack(list(means.values())) - means["en"], tol=1e-4) <= 2


@pytest.mark.parametrize(
    ("faulty", "message"),
    [
        (lambda encoder: mean_embeddings(encoder, {"en": SENTENCES["en"], "ru": []}), "no sentence of 'ru'"),
        (
            lambda encoder: language_directions(mean_embeddings(encoder, {"en": ["a"]})),
            "at least two languages",
        ),
    ],
)
def test_faults_are_named(faulty: object, message: str) -> None:
    with pytest.raises(EaseError, match=message):
        faulty(make_encoder())  # type: ignore[operator]
