"""Trainings interrupted by real signals resume exactly."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ease.encoders.encoder import load_encoder
from ease.errors import EaseError
from ease.training.__main__ import main, read_job
from ease.training.checkpoints import NOTES, fingerprint_of
from ease.training.interruption import TrainingInterrupted
from ease.training.job import run_job
from ease.training.options import TrainingResult
from tests.training.processes import finish, last_step, messages, start, wait_for
from tests.training.tiny_training import MakeJob, Trained, same, weights


def assert_same(first: TrainingResult, second: TrainingResult) -> None:
    """Compare all weights and all metrics except the throughput."""
    histories = [
        [
            {name: value for name, value in line.items() if name != "pairs_per_second"}
            for line in result.history
        ]
        for result in (first, second)
    ]
    assert histories[0] == histories[1]
    assert first.best_step == second.best_step
    assert same(weights(first), weights(second))


class Stop(Exception):
    """Interrupts a training in the middle of a step."""


def stop_at(wanted: int) -> Callable[[int, dict[str, float]], None]:
    def report(step: int, values: dict[str, float]) -> None:
        if step == wanted:
            raise Stop

    return report


@pytest.mark.parametrize("report_every", [1, 3])
def test_an_interrupted_training_resumes_exactly(make_job: MakeJob, report_every: int) -> None:
    changes = {"training": {"report_every": report_every, "warmup": 0.3}}
    whole = run_job(make_job("whole", **changes))
    broken = make_job("broken", **changes)
    for step in (6, 9):
        with pytest.raises(Stop):
            run_job(broken, stop_at(step))
        assert len(list((broken.folder / "checkpoints").iterdir())) == 1
    assert_same(run_job(broken), whole)


def test_checkpoints_that_would_take_too_long_are_left_out(make_job: MakeJob) -> None:
    whole = run_job(make_job("whole"))
    broken = make_job("broken", training={"checkpoint_share": 1e-6})
    with pytest.raises(Stop):
        run_job(broken, stop_at(11))
    assert [path.name for path in (broken.folder / "checkpoints").iterdir()] == ["step-00000001"]
    assert_same(run_job(broken), whole)


def test_checkpoints_follow_time(make_job: MakeJob) -> None:
    def be_slow(step: int, values: dict[str, float]) -> None:
        time.sleep(0.1)
        if step == 9:
            raise Stop

    for seconds, found in ((0.3, 1), (60, 0)):
        job = make_job(str(seconds), training={"checkpoint_seconds": seconds})
        with pytest.raises(Stop):
            run_job(job, be_slow)
        assert len(list(job.folder.glob("checkpoints/step-*"))) == found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_a_checkpoint(make_job: MakeJob, trained: Trained, number: signal.Signals) -> None:
    def interrupt(step: int, values: dict[str, float]) -> None:
        if step == 6:
            os.kill(os.getpid(), number)

    job = make_job("interrupted")
    before = signal.getsignal(number)
    with pytest.raises(TrainingInterrupted, match="after step 6 of 12: the same command") as stop:
        run_job(job, interrupt)
    assert stop.value.signal_number == number
    assert signal.getsignal(number) is before
    reported: list[int] = []
    assert_same(run_job(job, lambda step, _: reported.append(step)), trained.result)
    assert min(reported) == 7


def test_a_signal_in_the_last_step_stops_and_leaves_nothing_to_train(
    make_job: MakeJob, trained: Trained
) -> None:
    def interrupt(step: int, values: dict[str, float]) -> None:
        if step == 12 and "development" in values:
            os.kill(os.getpid(), signal.SIGINT)

    job = make_job("interrupted")
    with pytest.raises(TrainingInterrupted, match="after step 12 of 12"):
        run_job(job, interrupt)
    reported: list[int] = []
    assert_same(run_job(job, lambda step, _: reported.append(step)), trained.result)
    assert reported == []


def test_a_later_checkpoint_of_another_training_is_ignored(make_job: MakeJob, trained: Trained) -> None:
    job = make_job("shared")
    with pytest.raises(Stop):
        run_job(job, stop_at(6))
    (own,) = (job.folder / "checkpoints").iterdir()
    other = own.with_name("step-00000011")
    shutil.copytree(own, other)
    state = json.loads((other / "state.json").read_text(encoding="utf-8"))
    (other / "state.json").write_text(json.dumps({**state, "step": 11, "fingerprint": "another"}))
    # What a kill leaves of a checkpoint that was being removed.
    own.with_name(".step-00000009.removed").mkdir()
    reported: list[int] = []
    assert_same(run_job(job, lambda step, _: reported.append(step)), trained.result)
    assert min(reported) == int(state["step"]) + 1


def test_a_killed_process_resumes_exactly(make_job: MakeJob) -> None:
    # Many steps: however late a kill comes on a busy machine, there are some left.
    training = {"max_steps": 300, "evaluate_every": 150, "checkpoint_seconds": 0.2}
    whole, job = run_job(make_job("whole", training=training)), make_job("killed", training=training)
    reached = 0
    for sitting in range(2):
        (process,) = start(job)
        wait_for(lambda count=sitting: messages(job).count("Resuming after") == count, "it goes on", process)  # type: ignore[misc]
        wait_for(lambda step=reached + 30: last_step(job) >= step, "more steps", process)  # type: ignore[misc]
        process.kill()
        assert finish([process]) == [-signal.SIGKILL]
        reached = last_step(job)
    assert not (job.folder / "model").exists()
    assert finish(start(job)) == [0]
    assert messages(job).count("Resuming after step") == 2
    assert_same(run_job(job), whole)


def test_ctrl_c_prints_how_to_resume(make_job: MakeJob) -> None:
    job = make_job(training={"max_steps": 100_000})
    (process,) = start(job)
    wait_for(lambda: last_step(job) > 2, "three steps", process)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGINT)
    assert finish([process]) == [75]
    assert "the same command resumes it" in messages(job)
    assert "Traceback" not in messages(job)
    (checkpoint,) = (job.folder / "checkpoints").iterdir()
    assert {path.suffix for path in checkpoint.iterdir()} == {".safetensors", ".json"}


def test_a_partial_checkpoint_is_ignored(make_job: MakeJob, trained: Trained) -> None:
    job = make_job("broken")
    with pytest.raises(Stop):
        run_job(job, stop_at(6))
    torn = job.folder / "checkpoints" / ".step-00000008.scratch-here-1" / "step-00000008"
    torn.mkdir(parents=True)
    (torn / "model.safetensors").write_bytes(b"torn")
    assert_same(run_job(job), trained.result)


def test_a_checkpoint_of_other_options_is_not_resumed(make_job: MakeJob) -> None:
    with pytest.raises(Stop):
        run_job(make_job(), stop_at(6))
    changed = {"training": {"learning_rate": 2e-3}}
    reported: list[int] = []
    again = run_job(make_job(**changed), lambda step, _: reported.append(step))
    assert reported[0] == 0
    assert_same(again, run_job(make_job("fresh", **changed)))


def test_a_checkpoint_is_identified_by_file_contents(
    make_job: MakeJob, files: Path, trained: Trained, tmp_path: Path
) -> None:
    copies = [tmp_path / "first.parquet", tmp_path / "second.parquet"]
    for copy in copies:
        shutil.copy(files / "pairs.parquet", copy)
    first, second = (make_job(pairs=copy) for copy in copies)
    reported: list[int] = []
    with pytest.raises(Stop):
        run_job(first, stop_at(6))
    assert_same(run_job(second, lambda step, _: reported.append(step)), trained.result)
    assert reported[0] == 6, "the same pairs at another place"

    other = first.model_copy(update={"folder": tmp_path / "other"})
    with pytest.raises(Stop):
        run_job(other, stop_at(6))
    pq.write_table(pq.read_table(copies[0]).slice(1), copies[0])
    reported.clear()
    run_job(other, lambda step, _: reported.append(step))
    assert reported[0] == 0, "other pairs at the same place"


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


def test_other_files_beside_a_development_set_do_not_change_a_training(
    make_job: MakeJob, tmp_path: Path
) -> None:
    first, sets = tmp_path / "first", tmp_path / "sets"
    first.mkdir()
    (first / "mine.csv").write_text("sentence1,sentence2,score\na,b,1\nc,d,2\n")
    shutil.copytree(first, sets)
    options = {"path": str(sets), "sets": {"mine": {"file": "mine.csv", "licence": "own"}}}
    job = make_job(development={"own_graded_pairs": options})
    before = fingerprint_of(job, 1)
    (sets / "README").write_text("another file")
    assert fingerprint_of(job, 1) == before
    moved = {**options, "path": str(first)}
    assert fingerprint_of(make_job(development={"own_graded_pairs": moved}), 1) == before
    (sets / "mine.csv").write_text("sentence1,sentence2,score\na,b,1\nc,d,3\n")
    assert fingerprint_of(job, 1) != before


def test_an_anchor_is_identified_by_its_contents(make_job: MakeJob, files: Path, tmp_path: Path) -> None:
    shutil.copytree(files / "encoder", tmp_path / "anchor")
    given: dict[str, Any] = {"method": "dueam", "vocabulary": None, "table": None}
    job = make_job(method_options={"anchor": str(tmp_path / "anchor")}, **given)
    before = fingerprint_of(job, 1)
    (tmp_path / "anchor" / "model.safetensors").write_bytes(b"other weights")
    assert fingerprint_of(job, 1) != before


def test_a_checkpoint_of_another_device_is_not_resumed(
    make_job: MakeJob, caplog: pytest.LogCaptureFixture
) -> None:
    """Its random state is that device's."""
    job = make_job(development={})
    with pytest.raises(Stop):
        run_job(job, stop_at(6))
    (state,) = job.folder.glob("checkpoints/*/state.json")
    state.write_text(state.read_text(encoding="utf-8").replace('-cpu"', '-cuda"'), encoding="utf-8")
    reported: list[int] = []
    run_job(job, lambda step, _: reported.append(step))
    assert reported[0] == 1
    assert "or on another device: starting from the beginning" in caplog.text


def test_a_full_disk_is_reported_and_keeps_the_last_checkpoint(make_job: MakeJob) -> None:
    job = make_job(training={"evaluate_every": 100})
    # A limit on the size of files stands in for the disk: a checkpoint's tensors do not fit.
    assert finish(start(job, file_limit=60_000)) == [1]
    assert f"Cannot write to {job.folder}" in messages(job)
    assert "make room" in messages(job)
    assert "Traceback" not in messages(job)
    assert not list((job.folder / "checkpoints").glob("step-*"))
    assert_same(run_job(job), run_job(make_job("fresh", training={"evaluate_every": 100})))


def test_a_folder_without_a_job_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EaseError, match="No training job at"):
        read_job(tmp_path)
    assert main([str(tmp_path / "mistyped")]) == 1
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "job.json").write_text(json.dumps({"method": "ease"}), encoding="utf-8")
    with pytest.raises(EaseError, match="is not a valid training job: .*folder: Field required"):
        read_job(tmp_path)


def test_a_kept_job_with_former_parameters_is_refused_with_their_new_names(make_job: MakeJob) -> None:
    job = make_job()
    values = job.model_dump(mode="json")
    values["training"] |= {"steps": 5, "block_rows": 4}
    job.folder.mkdir(exist_ok=True)
    (job.folder / "job.json").write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(
        EaseError, match=r"`training\.steps` was renamed: use `max_steps`; .*`mini_batch_size`"
    ):
        read_job(job.folder)
