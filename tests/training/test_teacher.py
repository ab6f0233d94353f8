"""Teachers: embeddings computed once, against plain computations, and in trainings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from ease.encoders.encoder import build_encoder, load_encoder, save_encoder
from ease.encoders.encoding import Encoding
from ease.encoders.options import EncoderOptions
from ease.errors import EaseError
from ease.methods.components.losses import (
    cosine_distillation,
    similarity_distillation,
)
from ease.training.accelerator import accelerated
from ease.training.checkpoints import fingerprint_of
from ease.training.job import run_job
from ease.training.options import TeacherOptions
from ease.training.teacher import teacher_embeddings
from tests.training.tiny_training import SMALL, MakeJob, assert_same, sentences

STILL = {"encoder": "encoder_without_dropout", "development": {}}


def taught(name: Path | str, **options: Any) -> dict[str, Any]:
    return {"teacher": {"encoder": str(name), **options}}


@pytest.mark.parametrize("form", ["similarity", "cosine"])
def test_the_first_loss_is_that_of_the_batch_computed_apart(
    make_job: MakeJob, tmp_path: Path, form: str
) -> None:
    options = {"form": form, "weight": 0.5, "temperature": 0.2}
    other = build_encoder(EncoderOptions(random=SMALL, seed=3), sentences())
    save_encoder(other, tmp_path / "other")
    job = make_job(training={**taught(tmp_path / "other", **options), "max_steps": 1}, **STILL)
    terms = run_job(job).history[0]
    texts = pq.read_table(job.pairs)["sentence"].to_pylist()
    rows = np.random.default_rng([0, 0]).permutation(len(texts))[:16]
    batch = [texts[row] for row in rows]
    students, teachers = (
        torch.tensor(encoder.encode(batch)) for encoder in (load_encoder(job.encoder), other)
    )
    if form == "cosine":
        expected = cosine_distillation(students, teachers)
    else:
        expected = similarity_distillation(students, teachers, 0.2)
    assert terms["teacher_loss"] == pytest.approx(expected.item(), rel=2e-3)
    assert terms["loss"] == pytest.approx(
        terms["entity_loss"] + terms["self_loss"] + 0.5 * terms["teacher_loss"], rel=1e-5
    )


@pytest.mark.parametrize("method", ["mirror_bert", "dueam"])
def test_a_method_with_sentence_embeddings_learns_from_a_teacher(
    make_job: MakeJob, files: Path, wide: Path, method: str
) -> None:
    last = {}
    for weight in (1e-9, 20.0):
        changes = {"method": method, "pairs": files / "texts.parquet", **STILL}
        job = make_job(f"{weight}", training=taught(wide, weight=weight), **changes)
        last[weight] = np.mean([line["teacher_loss"] for line in run_job(job).history[-4:]])
    assert last[20.0] < 0.8 * last[1e-9]


@pytest.mark.parametrize("languages", [None, ("en", "eo")])
def test_the_file_has_each_taught_pairs_embedding_at_its_place(
    make_job: MakeJob, wide: Path, tmp_path: Path, languages: tuple[str, ...] | None
) -> None:
    job = make_job()
    table = pq.read_table(job.pairs).take(np.random.default_rng(0).permutation(160))
    pq.write_table(table, tmp_path / "shuffled.parquet", row_group_size=32)
    with accelerated(job.training) as accelerator:
        options = TeacherOptions(encoder=str(wide), languages=languages)
        target = tmp_path / "teacher.npy"
        found = teacher_embeddings(
            tmp_path / "shuffled.parquet", options, job.encoder, target, accelerator, None
        )
    ordered = table.sort_by("pair_id")
    expected = load_encoder(str(wide)).encode(ordered["sentence"].to_pylist(), normalize_embeddings=True)
    if languages is not None:
        expected[~np.isin(ordered["language"].to_pylist(), languages)] = 0
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_an_interrupted_encoding_resumes_from_its_sentences(
    make_job: MakeJob, wide: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ease.training.teacher.READ_ROWS", 64)
    job = make_job(training=taught(wide), **STILL)
    encoded: list[str] = []
    call = Encoding.__call__

    def stopping(self: Encoding, texts: list[str]) -> np.ndarray:
        if len(encoded) == 64:
            raise KeyboardInterrupt
        encoded.extend(texts)
        return call(self, texts)

    monkeypatch.setattr(Encoding, "__call__", stopping)
    with pytest.raises(KeyboardInterrupt):
        run_job(job)
    monkeypatch.setattr(Encoding, "__call__", call)
    whole = run_job(make_job("whole", training=taught(wide), **STILL))
    assert_same(run_job(job), whole)


def test_where_a_teacher_is_cached_does_not_change_a_training_and_its_weight_does(
    make_job: MakeJob, wide: Path, tmp_path: Path
) -> None:
    before = fingerprint_of(make_job(training=taught(wide)), 1)
    moved = {"batch_size": 8, "cache": str(tmp_path / "cache")}
    assert fingerprint_of(make_job(training=taught(wide, **moved)), 1) == before
    assert fingerprint_of(make_job(training=taught(wide, weight=2.0)), 1) != before


@pytest.mark.parametrize(
    ("training", "changes", "message"),
    [
        (
            taught("nowhere/one"),
            {},
            "The teacher cannot be loaded .`teacher.encoder`.. Encoder 'nowhere/one'",
        ),
        (taught("WIDE", form="cosine"), {}, "has 48 dimensions and the encoder 32, .*`similarity`"),
        (taught("start"), {"method": "mlm"}, "computes no sentence embeddings for a teacher"),
        (taught("start", form="cosine"), {"pooling": "cls_mlp_train"}, "would not teach the saved encoder"),
    ],
)
def test_faults_are_named(
    make_job: MakeJob,
    wide: Path,
    monkeypatch: pytest.MonkeyPatch,
    training: dict[str, Any],
    changes: dict[str, Any],
    message: str,
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    if training.get("teacher", {}).get("encoder") == "WIDE":
        training = {"teacher": {**training["teacher"], "encoder": str(wide)}}
    with pytest.raises(EaseError, match=message):
        run_job(make_job(training=training, **{**STILL, **changes}))
