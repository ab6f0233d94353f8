"""Teachers and guides: embeddings computed once, against plain computations, and in training runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import torch

from ease.encoders.encoder import build_encoder, load_encoder, save_encoder
from ease.encoders.encoding import Encoding
from ease.encoders.options import EncoderOptions
from ease.errors import EaseError
from ease.methods.components.losses import (
    cosine_distillation,
    false_negatives,
    several_positives_loss,
    similarity_distillation,
)
from ease.training.accelerator import accelerated
from ease.training.execution import Execution
from ease.training.job import run_job
from ease.training.options import TeacherOptions
from ease.training.teacher import frozen_embeddings, write_entity_embeddings
from tests.training.tiny_training import SMALL, MakeJob, assert_same, sentences

STILL = {"encoder": "encoder_without_dropout", "development": {}}


def taught(name: Path | str, **options: Any) -> dict[str, Any]:
    return {"teacher": {"encoder": str(name), **options}}


@pytest.mark.parametrize("form", ["similarity", "cosine"])
def test_the_first_loss_is_that_of_the_batch_computed_apart(make_job: MakeJob, tmp_path: Path, form: str) -> None:
    options = {"form": form, "weight": 0.5, "temperature": 0.2}
    other = build_encoder(EncoderOptions(random=SMALL, seed=3), sentences())
    save_encoder(other, tmp_path / "other")
    job = make_job(training={**taught(tmp_path / "other", **options), "max_steps": 1}, **STILL)
    terms = run_job(job).history[0]
    texts = pq.read_table(job.pairs)["sentence"].to_pylist()
    rows = np.random.default_rng([0, 0]).permutation(len(texts))[:16]
    batch = [texts[row] for row in rows]
    students, teachers = (torch.tensor(encoder.encode(batch)) for encoder in (load_encoder(job.encoder), other))
    if form == "cosine":
        expected = cosine_distillation(students, teachers)
    else:
        expected = similarity_distillation(students, teachers, 0.2)
    assert terms["teacher_loss"] == pytest.approx(expected.item(), rel=2e-3)
    assert terms["loss"] == pytest.approx(
        terms["entity_loss"] + terms["self_loss"] + 0.5 * terms["teacher_loss"], rel=1e-5
    )


def test_the_file_has_each_taught_pairs_embedding_at_its_place(make_job: MakeJob, wide: Path, tmp_path: Path) -> None:
    job, languages = make_job(), ("en", "eo")
    table = pq.read_table(job.pairs).take(np.random.default_rng(0).permutation(160))
    pq.write_table(table, tmp_path / "shuffled.parquet", row_group_size=32)
    with accelerated(Execution(threads=1)) as accelerator:
        options = TeacherOptions(encoder=str(wide), languages=languages)
        target = tmp_path / "teacher.npy"
        found = frozen_embeddings(tmp_path / "shuffled.parquet", options, job.encoder, target, accelerator, None)
    ordered = table.sort_by("pair_id")
    expected = load_encoder(str(wide)).encode(ordered["sentence"].to_pylist(), normalize_embeddings=True)
    expected[~np.isin(ordered["language"].to_pylist(), languages)] = 0
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_an_interrupted_encoding_resumes_from_its_sentences(
    make_job: MakeJob, wide: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ease.training.teacher.READ_ROWS", 64)
    training = {**taught(wide), "max_steps": 2}
    job = make_job(training=training, **STILL)
    encoded: list[str] = []
    call = Encoding.__call__

    def stopping(self: Encoding, texts: list[str]) -> np.ndarray:
        if encoded:
            raise KeyboardInterrupt
        encoded.extend(texts)
        return call(self, texts)

    monkeypatch.setattr(Encoding, "__call__", stopping)
    with pytest.raises(KeyboardInterrupt):
        run_job(job)
    monkeypatch.setattr(Encoding, "__call__", call)
    whole = run_job(make_job("whole", training=training, **STILL))
    assert_same(run_job(job), whole)


def test_a_teacher_encodes_the_pairs_that_the_steps_read(
    make_job: MakeJob, wide: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    job = make_job(training={**taught(wide), "max_steps": 2}, **STILL)
    run_job(job)
    (count,) = re.findall(r"encodes the sentences of (\d+) pairs", caplog.text)
    assert int(count) == 2 * job.training.batch_size < pq.read_metadata(job.pairs).num_rows


@pytest.mark.parametrize(
    ("training", "changes", "message"),
    [
        (taught("/nowhere"), {}, "The teacher cannot be loaded .`teacher.encoder`.. Encoder '/nowhere'"),
        (taught("start"), {"method": "mlm"}, "computes no sentence embeddings for a teacher"),
        (taught("start", form="cosine"), {"pooling": "cls_mlp_train"}, "would not teach the saved encoder"),
        ({"guide": "start"}, {"method": "simcse"}, "'simcse' does not read a guide"),
    ],
)
def test_faults_are_named(make_job: MakeJob, training: dict[str, Any], changes: dict[str, Any], message: str) -> None:
    with pytest.raises(EaseError, match=message):
        run_job(make_job(training=training, **{**STILL, **changes}))


def test_a_teacher_of_another_dimension_is_not_compared_by_cosines(make_job: MakeJob, wide: Path) -> None:
    with pytest.raises(EaseError, match="has 48 dimensions and the encoder 32, .*`similarity`"):
        run_job(make_job(training=taught(wide, form="cosine"), **STILL))


def test_a_candidate_nearer_than_the_positive_is_a_false_negative() -> None:
    anchors, positives = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    candidates = torch.tensor([[3.0, 0.1], [1.0, 1.0], [0.1, 3.0], [0.0, 0.0]])
    assert false_negatives(anchors, positives, candidates).tolist() == [[True, False, False, False], [False] * 4]


def test_excluded_candidates_are_no_negatives() -> None:
    random = torch.Generator().manual_seed(0)
    shapes = (3, 4), (3, 1, 4), (5, 4)
    anchors, positives, candidates = (torch.randn(*shape, generator=random).double() for shape in shapes)
    excluded = torch.tensor([[0, 1, 0, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], dtype=torch.bool)
    ids = {"positive_ids": torch.tensor([[7], [8], [9]]), "candidate_ids": torch.arange(5)}
    expected = []
    for anchor, (own,), skipped in zip(anchors, positives, excluded, strict=True):
        rows = torch.cat([own[None], candidates[~skipped]])
        logits = torch.cosine_similarity(rows, anchor[None]) / 0.1
        expected.append(logits.logsumexp(0) - logits[0])
    for size in (None, 2):
        given: dict[str, Any] = {**ids, "weights": torch.ones(1), "mini_batch_size": size}
        found = several_positives_loss(anchors, positives, candidates, 0.1, excluded=excluded, **given)
        torch.testing.assert_close(found, torch.stack(expected).mean())


def test_an_entity_has_the_mean_embedding_of_its_sentences(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float16)
    rows = np.array([0, 2, 0, 2, 2, 4, 0, 4, 2])
    write_entity_embeddings(vectors, rows, 5, tmp_path / "entities.npy")
    found = np.load(tmp_path / "entities.npy")
    for row in (0, 2, 4):
        mean = vectors[rows == row].astype(float).mean(axis=0)
        np.testing.assert_allclose(found[row], mean / np.linalg.norm(mean), atol=1e-3)
    assert not found[[1, 3]].any()


def test_the_first_loss_masks_what_the_guide_finds_nearer(make_job: MakeJob, wide: Path, tmp_path: Path) -> None:
    table = pq.read_table(make_job().pairs)
    order = np.random.default_rng(1).permutation(len(table))
    mixed = table.set_column(table.column_names.index("entity"), "entity", table["entity"].take(order))
    negatives = pc.if_else(pc.equal(mixed["hard_negative"], mixed["entity"]), None, mixed["hard_negative"])
    mixed = mixed.set_column(mixed.column_names.index("hard_negative"), "hard_negative", negatives)
    pq.write_table(mixed, tmp_path / "mixed.parquet")  # entities unlike their sentences
    options = {
        "method": "ease_plus",
        "method_options": {"positives": 1, "self_supervised": False},
        "pairs": tmp_path / "mixed.parquet",
        **STILL,
    }
    plain, guided = (
        run_job(make_job(str(guide), training={"guide": guide and wide, "max_steps": 1}, **options)).history[0]["loss"]
        for guide in (None, "guided")
    )
    assert guided < plain - 0.05
