"""Static encoders in the training loop: the same embeddings as outside of it, and a training that resumes and saves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import load_encoder
from ease.errors import EaseError
from ease.training.batches import make_batch
from ease.training.job import build_model, run_job
from ease.training.prepared_pairs import open_pairs, prepare_pairs
from ease.training.static import bag_features
from ease.training.students import LearningOptions, StaticOptions
from ease.training.students.distilling import distill_student
from tests.training.tiny_training import MakeJob, losses, sentences


@pytest.fixture(scope="module")
def static(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A static student of the tiny encoder, beside the files of tiny trainings."""
    options = StaticOptions(learning=LearningOptions(epochs=1, batch_size=8))
    work = tmp_path_factory.mktemp("static")
    made = distill_student(str(files / "encoder"), sentences(), options, work).model
    return made.replace(files / "static")


def test_the_loop_embeds_texts_as_the_encoder_does(
    files: Path, static: Path, tmp_path: Path, make_job: MakeJob
) -> None:
    model = build_model(make_job(encoder=static.name, method="ease_plus"))
    layout = model.layout(32)
    prepare_pairs(
        files / "pairs.parquet", files / "vocabulary.parquet", model.encoder, layout, tmp_path / "pairs"
    )
    rows = open_pairs(tmp_path / "pairs", layout)[:16]
    batch = make_batch(rows, 0, 3, model.method.views, with_entities=True)
    encoded = model.encode(batch).sentences
    expected = torch.from_numpy(np.asarray(model.encoder.encode(sentences()[:16])))
    for view in encoded:
        torch.testing.assert_close(view, expected)


def test_a_static_encoder_is_trained_by_the_loss_of_ease_plus(static: Path, make_job: MakeJob) -> None:
    training = {"max_steps": 12, "learning_rate": 3e-2, "matryoshka": (8,)}
    job = make_job(encoder="static", method="ease_plus", training=training)
    result = run_job(job)
    reported = list(losses(result).values())
    assert np.mean(reported[-3:]) < np.mean(reported[:3])
    trained: Any = SentenceTransformer(str(result.model), device="cpu")[0]
    start: Any = load_encoder(str(static))[0]
    assert not torch.equal(trained.embedding.weight, start.embedding.weight)


def test_word_vectors_are_refused_before_the_first_step(make_job: MakeJob, tmp_path: Path) -> None:
    (tmp_path / "words.vec").write_text("a 1 2\nb 3 4\n")
    with pytest.raises(EaseError, match="begins with WordEmbeddings, which no method trains: choose a"):
        run_job(make_job(encoder=str(tmp_path / "words.vec")))


def test_texts_of_one_length_need_no_mask() -> None:
    empty = bag_features({"input_ids": torch.empty((3, 0), dtype=torch.int64)})
    assert empty["offsets"].tolist() == [0, 0, 0]
    tokens = torch.arange(12).view(3, 4)
    found, expected = (
        bag_features(given)
        for given in ({"input_ids": tokens}, {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)})
    )
    assert all(torch.equal(found[name], expected[name]) for name in expected)
