"""Training with a teacher: its embeddings are computed once, checked against plain torch, and survive interruptions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from ease import train
from ease.encoders.encoder import build_encoder, load_encoder, save_encoder
from ease.encoders.encoding import Encoding
from ease.encoders.model_card import ModelCardData
from ease.encoders.options import EncoderOptions
from ease.errors import EaseError
from ease.methods.base import SENTENCE
from ease.methods.components.losses import cosine_distillation, similarity_distillation
from ease.training import teacher as teacher_module
from ease.training.accelerator import accelerated
from ease.training.checkpoints import fingerprint_of
from ease.training.inputs import open_pair_table
from ease.training.job import run_job
from ease.training.options import TeacherOptions
from ease.training.prepared_pairs import pair_places
from ease.training.teacher import encode_share, frozen_embeddings
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


@pytest.mark.parametrize("method", ["simcse", "mirror_bert", "dueam"])
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
        found = frozen_embeddings(
            tmp_path / "shuffled.parquet", options, job.encoder, target, accelerator, None
        )
    ordered = table.sort_by("pair_id")
    expected = load_encoder(str(wide)).encode(ordered["sentence"].to_pylist(), normalize_embeddings=True)
    if languages is not None:
        expected[~np.isin(ordered["language"].to_pylist(), languages)] = 0
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_only_the_processes_of_the_first_machine_write(
    make_job: MakeJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pq.read_table(make_job().pairs)
    pq.write_table(table, tmp_path / "pairs.parquet", row_group_size=32)
    source = open_pair_table(tmp_path / "pairs.parquet", [SENTENCE])
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setattr(teacher_module, "READ_ROWS", 32)
    monkeypatch.setattr(teacher_module, "process_count", lambda: 4)
    written = np.zeros(len(table), dtype=int)
    for rank in range(4):
        monkeypatch.setattr(teacher_module, "process_rank", lambda rank=rank: rank)
        stored = np.zeros((len(table), 2), dtype=np.float16)
        encode_share(source, pair_places(source), None, lambda texts: np.ones((len(texts), 2)), stored)
        assert bool(stored.any()) == (rank < 2)
        written += stored[:, 0] > 0
    assert written.tolist() == [1] * len(table)


def test_sentences_are_encoded_once_for_all_trainings_that_share_a_cache(
    make_job: MakeJob, wide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = taught(wide, cache=str(tmp_path / "cache"))
    run_job(make_job("first", training=changes, **STILL))
    again = make_job("second", training={**changes, "seed": 5}, **STILL)

    def encode(self: object, *given: object, **named: object) -> None:
        raise AssertionError("encoded again")

    monkeypatch.setattr("sentence_transformers.SentenceTransformer.encode", encode)
    run_job(again)
    assert sorted(path.name for path in again.folder.iterdir() if path.is_dir()) == ["model"]
    assert not list(again.folder.glob("teacher*"))


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


def test_the_start_teaches_itself(make_job: MakeJob) -> None:
    terms = run_job(make_job(training={**taught("start", form="cosine"), "max_steps": 3}, **STILL)).history
    assert terms[0]["teacher_loss"] < 1e-3, "before the first step, the encoder is its teacher"
    assert terms[2]["teacher_loss"] > terms[0]["teacher_loss"]


def test_the_card_names_the_teacher_without_its_folder(make_job: MakeJob, wide: Path) -> None:
    job = make_job(training={**taught(wide), "max_steps": 1}, card=ModelCardData(), **STILL)
    card = (run_job(job).model / "README.md").read_text(encoding="utf-8")
    assert "| `training.teacher.encoder` | `wide` |" in card
    assert str(wide.parent) not in card


def test_where_a_teacher_is_cached_does_not_change_a_training_and_its_weight_does(
    make_job: MakeJob, wide: Path, tmp_path: Path
) -> None:
    before = fingerprint_of(make_job(training=taught(wide)), 1)
    moved = {"batch_size": 8, "cache": str(tmp_path / "cache")}
    assert fingerprint_of(make_job(training=taught(wide, **moved)), 1) == before
    assert fingerprint_of(make_job(training=taught(wide, weight=2.0)), 1) != before


def test_the_library_accepts_a_name_or_an_encoder(make_job: MakeJob, wide: Path, tmp_path: Path) -> None:
    job = make_job()
    loop = {"batch_size": 16, "max_steps": 3, "device": "cpu", "threads": 1}
    given = (job.pairs, job.encoder, "simcse")
    by_name = train(*given, teacher=str(wide), **loop)
    by_object = train(*given, teacher=load_encoder(str(wide)), **loop)
    by_group = train(*given, teacher={"encoder": str(wide), "weight": 3.0}, **loop)
    first, second, third = (encoder.encode(sentences()[:4]) for encoder in (by_name, by_object, by_group))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, third)


@pytest.mark.parametrize(
    ("teacher", "changes", "message"),
    [
        (
            "nowhere/teacher",
            {},
            "The teacher cannot be loaded .`teacher.encoder`.. Encoder 'nowhere/teacher'",
        ),
        ("WIDE", {}, "has 48 dimensions and the trained encoder 32.*`similarity`"),
        ("start", {"method": "mlm"}, "'mlm' computes no sentence embeddings for a teacher"),
        ("start", {"pooling": "cls_mlp_train"}, "`teacher.form: cosine` would not teach the saved encoder"),
    ],
)
def test_faults_are_named(
    make_job: MakeJob,
    wide: Path,
    monkeypatch: pytest.MonkeyPatch,
    teacher: str,
    changes: dict[str, Any],
    message: str,
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    name = wide if teacher == "WIDE" else teacher
    job = make_job(training=taught(name, form="cosine"), **{**STILL, **changes})
    with pytest.raises(EaseError, match=message):
        run_job(job)
