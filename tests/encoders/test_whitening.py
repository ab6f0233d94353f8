"""Whitening: agreement with NumPy and scikit-learn, directions without variance, saved models, the pipeline."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from huggingface_hub import ModelCard
from mlflow.tracking import MlflowClient
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize
from sklearn.decomposition import PCA

from ease.encoders.encoder import load_encoder, save_encoder
from ease.encoders.whitening import (
    fit_whitening,
    gather_moments,
    language_directions,
    mean_embeddings,
    remove_directions,
)
from ease.errors import EaseError
from ease.reporting.score_summaries import main_figures
from tests.encoders.tiny import tiny_encoder
from tests.methods.made import cosines
from tests.project import Project

DIMENSION = 12


def vectors(count: int = 500, rank: int = DIMENSION, far: float = 3.0) -> np.ndarray:
    """Return vectors with different variances by direction, and a mean far from zero."""
    draws = np.random.default_rng(1)
    mixed = draws.normal(size=(count, rank)) @ draws.normal(size=(rank, DIMENSION))
    return (mixed + far).astype(np.float32)


@pytest.mark.parametrize("dimension", [5, DIMENSION])
def test_components_equal_scikit_learns(dimension: int) -> None:
    """Whatever the batches."""
    rows, others = vectors(far=1e3), vectors(40, far=999.0)
    whitening = fit_whitening(gather_moments(np.split(rows, [1, 7, 8, 300])), dimension)
    np.testing.assert_allclose(whitening.moments.mean, rows.astype(np.float64).mean(axis=0), rtol=1e-12)
    whitened = (others - whitening.moments.mean) @ whitening.weight
    reference = PCA(dimension, whiten=True, svd_solver="full").fit(rows.astype(np.float64)).transform(others)
    np.testing.assert_allclose(cosines(whitened, whitened), cosines(reference, reference), atol=1e-6)
    ratio = np.abs(whitened / reference)
    # scikit-learn divides by the number of rows minus one.
    np.testing.assert_allclose(ratio, np.sqrt(500 / 499), rtol=1e-4)


@pytest.mark.parametrize(("count", "rank", "kept"), [(500, 4, 4), (6, DIMENSION, 5)])
def test_directions_without_variance_are_dropped(count: int, rank: int, kept: int) -> None:
    rows = vectors(count, rank)
    whitening = fit_whitening(gather_moments([rows]))
    whitened = (rows - whitening.moments.mean) @ whitening.weight
    assert whitened.shape == (count, kept)
    np.testing.assert_allclose(np.atleast_2d(np.cov(whitened, rowvar=False, bias=True)), np.eye(kept), atol=1e-4)


def test_vectors_without_enough_variance_are_refused() -> None:
    with pytest.raises(EaseError, match="of 6 sentences vary in 5 of 12 dimensions, .* asks for 6: set it to 5"):
        fit_whitening(gather_moments([vectors(6)]), 6)
    with pytest.raises(EaseError, match="of 3 sentences are all the same"):
        fit_whitening(gather_moments([np.repeat(vectors(1), 3, axis=0)]))
    broken = vectors(3)
    broken[1, 1] = np.nan
    with pytest.raises(EaseError, match="1 of 3 rows .* first row 1"):
        gather_moments([broken])


@pytest.mark.slow
def test_the_pipeline_builds_scores_and_tracks_a_whitened_encoder(copy: Project) -> None:
    done = copy.run(
        "train,evaluate", "--namespaces=multilingual.whitening", multilingual__whitening__pooling="first_last_mean"
    )
    folder = copy.latest("06_models/multilingual/whitening/encoder")
    encoder = SentenceTransformer(str(folder), device="cpu")
    assert all(type(module).__module__.startswith("sentence_transformers.") for module in encoder)
    pairs = pd.read_parquet(copy.latest("05_model_input/multilingual/training_pairs.parquet"))
    sentences = pairs["sentence"].drop_duplicates().tolist()
    whitened = encoder.encode(sentences)
    np.testing.assert_allclose(np.cov(whitened, rowvar=False, bias=True), np.eye(31), atol=1e-4)
    assert "do not vary in 1 of 32 dimensions" in done.stderr
    scores = pd.DataFrame(copy.json("07_model_output/multilingual/whitening/scores.json"))
    assert set(scores["task"]) == {"sample_parallel", "sample_graded"}
    assert set(zip(scores["base"], scores["pooling"], strict=True)) == {("random:", "first_last_mean")}
    assert set(scores["model"]) == {folder.parent.name}
    run = MlflowClient(copy.store).get_run(json.loads((folder / "training/mlflow_run.json").read_text())["run_id"])
    assert run.info.run_name.startswith("multilingual.whitening")
    assert run.data.metrics["sentences"] == len(sentences)
    graded = main_figures(scores).query("task == 'sample_graded'")["value"]
    assert run.data.metrics["sample_graded/en"] == pytest.approx(graded.item())
    assert run.data.params["data.multilingual.untrained.encoder"]
    card = ModelCard.load(folder / "README.md")
    assert (card.data.license, sorted(card.data.language)) == ("apache-2.0", ["ar", "de", "en", "ja"])
    assert f"31 dimensions, fitted on {len(sentences)} sentences" in card.text


BY_LANGUAGE = {
    "en": ["a large city", "a river", "many people live here"],
    "ru": ["большой город", "река", "здесь живут люди"],
    "ja": ["大きな都市", "川がある"],
}


def make_encoder() -> SentenceTransformer:
    """Return a BERT of 8 dimensions."""
    return tiny_encoder([text for own in BY_LANGUAGE.values() for text in own] * 3, hidden_size=8)


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
    texts = [text for own in BY_LANGUAGE.values() for text in own]
    before = encoder.encode(texts).astype(np.float64)
    directions = language_directions(mean_embeddings(encoder, BY_LANGUAGE))[:2]
    remove_directions(encoder, directions)
    save_encoder(encoder, tmp_path / "encoder")
    after = load_encoder(str(tmp_path / "encoder")).encode(texts).astype(np.float64)
    expected = before - before @ directions.T @ directions
    lengths = np.linalg.norm(expected, axis=1, keepdims=True) if normalised else 1
    np.testing.assert_allclose(after, expected / lengths, atol=1e-5)
    assert np.abs(after @ directions.T).max() < 1e-5
    means = mean_embeddings(encoder, BY_LANGUAGE)
    assert np.linalg.matrix_rank(np.stack(list(means.values())) - means["en"], tol=1e-4) <= 2
