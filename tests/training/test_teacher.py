"""Training with a teacher: its embeddings are computed once, checked against plain torch, and survive interruptions."""

from __future__ import annotations

import json
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
from ease.methods import method_names
from ease.methods.base import SENTENCE
from ease.methods.components.teacher_losses import cosine_distillation, similarity_distillation
from ease.training import teacher as teacher_embeddings_module
from ease.training.accelerator import accelerated
from ease.training.inputs import open_pair_table
from ease.training.job import run_job
from ease.training.options import TeacherOptions, TrainingJob, TrainingOptions
from ease.training.prepared_pairs import pair_places
from ease.training.teacher import encode_share, teacher_embeddings
from tests.training.processes import finish, messages, start
from tests.training.test_resuming import Stop, assert_same, stop_at
from tests.training.tiny_training import SMALL, MakeJob, losses, sentences, weights

STILL = {"encoder": "encoder_without_dropout", "development": {}}


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A teacher with another tokenizer and dimension."""
    options = SMALL.model_copy(update={"hidden_size": 48, "vocabulary_size": 310})
    folder = tmp_path_factory.mktemp("teacher") / "wide"
    save_encoder(build_encoder(EncoderOptions(random=options, seed=7), sentences()[::-1]), folder)
    return folder


def taught(name: Path | str, **options: Any) -> dict[str, Any]:
    return {"teacher": {"encoder": str(name), **options}}


def first_terms(job: TrainingJob) -> dict[str, float]:
    """Return the reported terms of the first step."""
    return run_job(job).history[0]


@pytest.mark.parametrize("form", ["similarity", "cosine"])
def test_the_first_loss_is_that_of_the_batch_computed_apart(
    make_job: MakeJob, tmp_path: Path, form: str
) -> None:
    options = {"form": form, "weight": 0.5, "temperature": 0.2}
    other = build_encoder(EncoderOptions(random=SMALL, seed=3), sentences())
    save_encoder(other, tmp_path / "other")
    job = make_job(training={**taught(tmp_path / "other", **options), "max_steps": 1}, **STILL)
    terms = first_terms(job)
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


@pytest.mark.parametrize("method", [name for name in method_names() if name != "mlm"])
def test_every_method_with_sentence_embeddings_learns_from_a_teacher(
    make_job: MakeJob, wide: Path, method: str
) -> None:
    pairs = {"pairs": _with_texts(make_job("files"))} if method in ("supervised_simcse", "dueam") else {}
    last = {}
    for weight in (1e-9, 20.0):
        job = make_job(f"{weight}", method=method, training=taught(wide, weight=weight), **{**STILL, **pairs})
        last[weight] = np.mean([line["teacher_loss"] for line in run_job(job).history[-4:]])
    assert last[20.0] < 0.8 * last[1e-9]


def _with_texts(job: TrainingJob) -> Path:
    table = pq.read_table(job.pairs)
    texts = table["sentence"].to_pylist()
    for name, column in (("positive", texts[::-1]), ("negative", texts[5:] + texts[:5])):
        table = table.append_column(name, [column])
    job.folder.mkdir(exist_ok=True)
    pq.write_table(table, job.folder / "texts.parquet")
    return job.folder / "texts.parquet"


def test_the_file_has_each_pairs_embedding_at_its_place(
    make_job: MakeJob, wide: Path, tmp_path: Path
) -> None:
    job = make_job()
    table = pq.read_table(job.pairs).take(np.random.default_rng(0).permutation(160))
    pq.write_table(table, tmp_path / "shuffled.parquet", row_group_size=32)
    with accelerated(job.training) as accelerator:
        given = (TeacherOptions(encoder=str(wide)), job.encoder, 32, tmp_path / "teacher.npy", accelerator)
        found = teacher_embeddings(tmp_path / "shuffled.parquet", *given)
    texts = table.sort_by("pair_id")["sentence"].to_pylist()
    expected = load_encoder(str(wide)).encode(texts, normalize_embeddings=True)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_only_the_processes_of_the_first_machine_write(
    make_job: MakeJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pq.read_table(make_job().pairs)
    pq.write_table(table, tmp_path / "pairs.parquet", row_group_size=32)
    source = open_pair_table(tmp_path / "pairs.parquet", [SENTENCE])
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setattr(teacher_embeddings_module, "READ_ROWS", 32)
    monkeypatch.setattr(teacher_embeddings_module, "process_count", lambda: 4)
    written = np.zeros(len(table), dtype=int)
    for rank in range(4):
        monkeypatch.setattr(teacher_embeddings_module, "process_rank", lambda rank=rank: rank)
        stored = np.zeros((len(table), 2), dtype=np.float16)
        encode = lambda texts: np.ones((len(texts), 2))  # noqa: E731
        encode_share(source, pair_places(source), None, encode, stored)
        assert bool(stored.any()) == (rank < 2)
        written += stored[:, 0] > 0
    assert written.tolist() == [1] * len(table)


def test_only_the_sentences_of_the_given_languages_are_taught(
    make_job: MakeJob, wide: Path, tmp_path: Path
) -> None:
    job = make_job()
    options = TeacherOptions(encoder=str(wide), languages="en eo")  # type: ignore[arg-type]
    with accelerated(job.training) as accelerator:
        found = teacher_embeddings(job.pairs, options, job.encoder, 32, tmp_path / "teacher.npy", accelerator)
    table = pq.read_table(job.pairs)
    taught = np.isin(table["language"].to_pylist(), ["en", "eo"])
    assert not found[~taught].any()
    np.testing.assert_allclose(np.linalg.norm(found[taught].astype(float), axis=1), 1, atol=1e-3)
    history = run_job(make_job("taught", training=taught_in("en eo", wide), **STILL)).history
    assert all(line["teacher_loss"] > 0 for line in history)


def taught_in(languages: str, teacher: Path) -> dict[str, Any]:
    return taught(teacher, languages=languages)


def test_a_language_without_a_pair_is_named(make_job: MakeJob, wide: Path) -> None:
    with pytest.raises(EaseError, match="no pair has the language xx; the languages are en, eo, ja, ru"):
        run_job(make_job(training=taught_in("en xx", wide), **STILL))


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
    (cache,) = (job.folder / "teacher").glob("*.sqlite")
    assert cache.stat().st_size
    monkeypatch.setattr(Encoding, "__call__", call)
    whole = run_job(make_job("whole", training=taught(wide), **STILL))
    assert_same(run_job(job), whole)


def test_an_interrupted_training_resumes_exactly(make_job: MakeJob, wide: Path) -> None:
    changes = {"training": taught(wide), "method": "ease_plus"}
    whole, broken = run_job(make_job("whole", **changes)), make_job("broken", **changes)
    with pytest.raises(Stop):
        run_job(broken, stop_at(6))
    (broken.folder / "teacher").rename(broken.folder / "gone")  # the mapped file is enough
    assert_same(run_job(broken), whole)


def test_two_processes_with_gathered_candidates_equal_one(make_job: MakeJob, wide: Path) -> None:
    changes: dict[str, Any] = {"method_options": {"gather_negatives": True}, **STILL}
    one = run_job(make_job("one", training=taught(wide), **changes))
    job = make_job("two", training={"processes": 2, **taught(wide)}, **changes)
    assert finish(start(job, 2)) == [0, 0], messages(job)
    two = run_job(job)
    found, expected = ([line["teacher_loss"] for line in result.history] for result in (two, one))
    assert np.allclose(found, expected, rtol=1e-4)
    assert all(np.allclose(weights(two)[name], value, atol=5e-5) for name, value in weights(one).items())


def test_the_start_teaches_itself_and_a_teacher_changes_the_result(make_job: MakeJob) -> None:
    job = make_job("start", training=taught("start", form="cosine"), **STILL)
    terms = run_job(job).history
    assert terms[0]["teacher_loss"] < 1e-3, "before the first step, the encoder is its teacher"
    plain = make_job("plain", **STILL)
    assert losses(run_job(plain))[12] != losses(run_job(job))[12]


def test_the_card_names_the_teacher_without_its_folder(make_job: MakeJob, wide: Path) -> None:
    job = make_job(training=taught(wide), card=ModelCardData(), **STILL)
    card = (run_job(job).model / "README.md").read_text(encoding="utf-8")
    assert "| `training.teacher.encoder` | `wide` |" in card
    assert str(wide.parent) not in card
    plain = make_job("plain", card=ModelCardData(), **STILL)
    assert "teacher" not in (run_job(plain).model / "README.md").read_text(encoding="utf-8")


def test_a_finished_training_is_reused_only_with_the_same_teacher(make_job: MakeJob, wide: Path) -> None:
    job = make_job(training=taught(wide), **STILL)
    first = run_job(job)
    moved = job.training.teacher.model_copy(update={"batch_size": 8, "cache": job.folder / "cache"})
    same_loop = job.training.model_copy(update={"teacher": moved})
    assert run_job(job.model_copy(update={"training": same_loop})) == first
    other = job.training.model_copy(update={"teacher": moved.model_copy(update={"weight": 2.0})})
    assert losses(run_job(job.model_copy(update={"training": other}))) != losses(first)


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


def test_another_dimension_is_refused_for_cosine(make_job: MakeJob, wide: Path) -> None:
    job = make_job(training=taught(wide, form="cosine"), **STILL)
    with pytest.raises(EaseError, match="has 48 dimensions and the trained encoder 32.*`similarity`"):
        run_job(job)


@pytest.mark.parametrize(
    ("teacher", "changes", "message"),
    [
        (
            "nowhere/teacher",
            {},
            "The teacher cannot be loaded .`teacher.encoder`.. Encoder 'nowhere/teacher'",
        ),
        ("start", {"method": "mlm"}, "'mlm' computes no sentence embeddings for a teacher"),
        ("start", {"pooling": "cls_mlp_train"}, "`teacher.form: cosine` would not teach the saved encoder"),
    ],
)
def test_faults_are_named(
    make_job: MakeJob, monkeypatch: pytest.MonkeyPatch, teacher: str, changes: dict[str, Any], message: str
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    job = make_job(training=taught(teacher, form="cosine"), **{**STILL, **changes})
    with pytest.raises(EaseError, match=message):
        run_job(job)


def test_a_job_keeps_its_teacher_in_its_file(make_job: MakeJob, wide: Path) -> None:
    job = make_job(training=taught(wide, cache="cache"))
    assert TrainingJob.model_validate(json.loads(job.model_dump_json())) == job
    assert TrainingOptions.model_validate({"teacher": None}).teacher == TeacherOptions()
