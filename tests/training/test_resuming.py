"""Trainings interrupted by real signals resume exactly."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ease.encoders.encoder import load_encoder
from ease.errors import EaseError
from ease.training.__main__ import main, read_job
from ease.training.checkpoints import NOTES, fingerprint_of
from ease.training.job import run_job
from ease.training.processes import TrainingInterrupted
from tests.training.processes import finish, messages, start
from tests.training.tiny_training import MakeJob, Stop, Trained, assert_same, stop_at


@pytest.mark.parametrize(
    ("method", "options", "training"),
    [
        ("ease", {}, {"report_every": 3, "warmup": 0.3, "sub_batch_size": 4, "entity_moments": "bf16"}),
        ("ease", {}, {"batch_size": 4, "entity_optimizer": "dense", "entity_moments": "bf16", "weight_decay": 0.1}),
        ("ease", {}, {"precision": "bf16", "length_chunks": None, "lora": {"rank": 4, "dropout": 0.2}}),
        ("ease_plus", {}, {"teacher": "WIDE", "guide": "WIDE", "precision": "bf16"}),
        ("simcse", {}, {"precision": "bf16", "weight_decay": 0.1}),
        ("simcse", {"mlm_weight": 0.1}, {"precision": "bf16"}),
        ("simcse", {"mlm_weight": 0.1}, {}),
        ("dueam", {}, {}),
    ],
)
def test_an_interrupted_training_resumes_exactly(
    make_job: MakeJob,
    files: Path,
    wide: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    options: dict[str, Any],
    training: dict[str, Any],
) -> None:
    for constant in ("changed_rows.LARGE_TABLE", "token_tables.SPARSE_ROWS"):
        monkeypatch.setattr(f"ease.training.{constant}", 100)
    training = {name: wide if value == "WIDE" else value for name, value in training.items()}
    changes = {"method": method, "method_options": options, "pairs": files / "texts.parquet"}
    short = {"max_steps": 8, **training}
    whole = run_job(make_job("whole", **changes, training={**short, "checkpoint_seconds": 600}))
    broken = make_job("broken", **changes, training=short)
    for step in (4, 6):
        with pytest.raises(Stop):
            run_job(broken, stop_at(step))
        assert len(list((broken.folder / "checkpoints").iterdir())) == 1
        shutil.rmtree(broken.folder / "teacher", ignore_errors=True)  # the mapped embeddings are enough
    assert_same(run_job(broken), whole)
    assert {path.name for path in broken.folder.iterdir() if path.is_dir()} == {"model"}


@pytest.mark.parametrize(
    ("training", "share"), [({}, 0.8), ({"lora": {"rank": 4}, "packed": True, "length_chunks": None}, 0.2)]
)
def test_a_checkpoint_has_only_what_the_training_has_changed(
    make_job: MakeJob,
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    training: dict[str, Any],
    share: float,
) -> None:
    """Pairs of a few words use a few of the vocabulary's rows; adapters leave all other weights as they are."""
    for constant in ("changed_rows.LARGE_TABLE", "token_tables.SPARSE_ROWS"):
        monkeypatch.setattr(f"ease.training.{constant}", 100)
    pairs = pq.read_table(files / "texts.parquet").slice(0, 16)
    file = make_job().folder / "pairs.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pairs, file)
    changes = {"method": "simcse", "pairs": file, "vocabulary": None, "table": None}
    weights = (files / "encoder" / "model.safetensors").stat().st_size
    whole = run_job(make_job("whole", **changes, training={**training, "checkpoint_seconds": 600}))
    broken = make_job("broken", **changes, training=training)
    for step in (4, 6):
        with pytest.raises(Stop):
            run_job(broken, stop_at(step))
        (checkpoint,) = (broken.folder / "checkpoints").iterdir()
        assert (checkpoint / "model.safetensors").stat().st_size < share * weights
        # Beside the moments, numbers of steps by row, and learning rates by step.
        assert (checkpoint / "optimizers.safetensors").stat().st_size < 2 * share * weights + 10_000
    assert_same(run_job(broken), whole)


def test_a_signal_saves_a_checkpoint(make_job: MakeJob, trained: Trained) -> None:
    def interrupt(step: int, values: dict[str, float]) -> None:
        if step == 6:
            os.kill(os.getpid(), signal.SIGTERM)

    job = make_job("interrupted")
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(TrainingInterrupted, match="after step 6 of 12: the same command"):
        run_job(job, interrupt)
    assert signal.getsignal(signal.SIGTERM) is before
    reported: list[int] = []
    assert_same(run_job(job, lambda step, _: reported.append(step)), trained.result)
    assert min(reported) == 7


def test_a_later_checkpoint_of_another_training_is_ignored(make_job: MakeJob, trained: Trained) -> None:
    job = make_job("shared")
    with pytest.raises(Stop):
        run_job(job, stop_at(6))
    (own,) = (job.folder / "checkpoints").iterdir()
    other = own.with_name("step-00000011")
    shutil.copytree(own, other)
    state = json.loads((other / "state.json").read_text(encoding="utf-8"))
    (other / "state.json").write_text(json.dumps({**state, "step": 11, "fingerprint": "another"}))
    # What a kill leaves of checkpoints that were being removed and written.
    own.with_name(".step-00000009.removed").mkdir()
    torn = own.with_name(".step-00000008.scratch-here-1") / "step-00000008"
    torn.mkdir(parents=True)
    (torn / "model.safetensors").write_bytes(b"torn")
    reported: list[int] = []
    assert_same(run_job(job, lambda step, _: reported.append(step)), trained.result)
    assert min(reported) == int(state["step"]) + 1


def test_a_checkpoint_is_identified_by_options_and_file_contents(
    make_job: MakeJob, files: Path, wide: Path, tmp_path: Path
) -> None:
    copies = [tmp_path / "first.parquet", tmp_path / "second.parquet"]
    for copy in copies:
        shutil.copy(files / "pairs.parquet", copy)
    first, second = (make_job(pairs=copy) for copy in copies)
    before = fingerprint_of(first, 1)
    assert fingerprint_of(second, 1) == before, "the same pairs at another place"
    for option in ({"learning_rate": 2e-3}, {"onednn": False}):
        assert fingerprint_of(make_job(pairs=copies[0], training=option), 1) != before
    pq.write_table(pq.read_table(copies[0]).slice(1), copies[0])
    assert fingerprint_of(first, 1) != before, "other pairs at the same place"
    taught, moved, heavier = (
        fingerprint_of(make_job(training={"teacher": {"encoder": str(wide), **options}}), 1)
        for options in ({}, {"batch_size": 8, "cache": str(tmp_path / "cache")}, {"weight": 2.0})
    )
    assert taught == moved, "where a teacher's embeddings are cached"
    assert taught != heavier


def test_what_runs_note_beside_an_encoder_does_not_change_a_training(
    make_job: MakeJob, files: Path, tmp_path: Path
) -> None:
    shutil.copytree(files / "encoder", tmp_path / "start")
    job = make_job(encoder=str(tmp_path / "start"))
    before = fingerprint_of(job, 1)
    for place in NOTES:
        (tmp_path / "start" / place).parent.mkdir(exist_ok=True)
        (tmp_path / "start" / place).write_text("{}")
    encoder = load_encoder(str(tmp_path / "start"))
    encoder.encode(["sets the tokenizer's padding and truncation"])
    encoder.tokenizer.save_pretrained(tmp_path / "start")
    assert fingerprint_of(job, 1) == before
    (tmp_path / "start" / "modules.json").write_text("[]")
    assert fingerprint_of(job, 1) != before
    options = {"anchor": str(tmp_path / "start")}
    job = make_job(method="dueam", method_options=options, vocabulary=None, table=None)
    before = fingerprint_of(job, 1)
    (tmp_path / "start" / "model.safetensors").write_bytes(b"other weights")
    assert fingerprint_of(job, 1) != before, "an anchor's contents count, too"


def test_a_full_disk_is_reported_and_keeps_the_last_checkpoint(make_job: MakeJob) -> None:
    job = make_job(training={"evaluate_every": 100, "max_steps": 4})
    # A limit on the size of files stands in for the disk: a checkpoint's tensors do not fit.
    assert finish(start(job, file_limit=60_000)) == [1]
    assert f"Cannot write to {job.folder}" in messages(job)
    assert "make room" in messages(job)
    assert "Traceback" not in messages(job)
    assert not list((job.folder / "checkpoints").glob("step-*"))
    assert run_job(job).steps == 4


def test_a_folder_without_a_job_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EaseError, match="No training job at"):
        read_job(tmp_path)
    assert main([str(tmp_path / "mistyped")]) == 1
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "job.json").write_text(json.dumps({"method": "ease"}), encoding="utf-8")
    with pytest.raises(EaseError, match="is not a valid training job: .*folder: Field required"):
        read_job(tmp_path)
