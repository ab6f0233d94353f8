"""Several processes (gloo) equal one process on the joint batch, and produce one model; requests to stop."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ease.errors import EaseError
from ease.methods import MethodRecord, records, register
from ease.training.job import run_job
from ease.training.processes import LAUNCHER_VARIABLE, StopRequest, TrainingInterrupted, stop_requests
from tests.training.processes import finish, messages, start
from tests.training.tiny_training import MakeJob, assert_same, weights


@pytest.mark.parametrize(
    ("method", "frozen", "changes"),
    [
        ("ease_plus", "guide", {"sub_batch_size": 4, "entity_optimizer": "dense"}),
        ("simcse", "teacher", {"lora": {"rank": 4, "dropout": 0}, "mini_batch_size": 3}),
    ],
)
def test_two_processes_with_gathered_negatives_equal_one_with_the_joint_batch(
    make_job: MakeJob, files: Path, wide: Path, method: str, frozen: str, changes: dict[str, Any]
) -> None:
    """Of other methods, `test_equal_losses` compares the gradients."""
    training = {frozen: wide, "max_steps": 6, "evaluate_every": 3, **changes}
    given = {
        "method": method,
        "pairs": files / "texts.parquet",
        "encoder": "encoder_without_dropout",
        "method_options": {"gather_negatives": True},
    }
    one = run_job(make_job("one", **{**given, "training": training}))
    job = make_job("two", **{**given, "training": {**training, "processes": 2}})
    assert finish(start(job, 2)) == [0, 0], messages(job)
    two = run_job(job)
    assert len(one.history) == len(two.history)
    for line, expected in zip(two.history, one.history, strict=True):
        terms = {name: value for name, value in expected.items() if name.endswith("loss")}
        assert {name: line[name] for name in terms} == pytest.approx(terms, rel=1e-4)
    assert one.best_step == two.best_step
    found, wanted = weights(two), weights(one)
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert np.allclose(found[name], value, atol=5e-5), name
    assert [path.name for path in job.folder.iterdir() if path.is_dir()] == ["model"]


@pytest.mark.long
def test_launched_processes_stop_and_those_of_another_launcher_resume(
    make_job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With another number of threads sums are rounded otherwise.
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    # Many steps: however late the signal comes on a busy machine, there are some left.
    training = {"processes": 2, "max_steps": 200, "evaluate_every": 200, "checkpoint_seconds": 60}
    job = make_job(training=training, method_options={"gather_negatives": True})
    reported: list[int] = []

    def stop(step: int, values: dict[str, float]) -> None:
        reported.append(step)
        if step == 1:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(TrainingInterrupted, match=r"stopped after step [1-9]\d* of 200") as stopped:
        run_job(job, stop)
    assert [path.name for path in (job.folder / "checkpoints").iterdir()] == [f"step-{stopped.value.step:08d}"]
    assert reported == list(range(stopped.value.step + 1)), "the starting encoder's score, and each step once"
    whole = make_job("whole", training=training, method_options={"gather_negatives": True})
    for started in (job, whole):
        assert finish(start(started, 2)) == [0, 0], messages(started)
    assert f"Resuming after step {stopped.value.step}" in messages(job)
    assert_same(run_job(job), run_job(whole))


def test_an_error_of_a_process_is_raised(make_job: MakeJob) -> None:
    reported: list[int] = []
    training = {"processes": 2, "learning_rate": 1e30, "max_grad_norm": None}
    with pytest.raises(EaseError, match="The loss is nan around step .: the training run has diverged"):
        run_job(make_job(training=training, development={}), lambda step, _: reported.append(step))
    assert reported[0] == 1


def test_processes_find_the_method_of_another_package(
    make_job: MakeJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "src" / "my_project"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "mine.py").write_text(
        "from ease.methods.simcse import Simcse\n\n\nclass Mine(Simcse):\n    pass\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setattr(records, "_registered", {**records._registered})
    register(MethodRecord(name="mine", title="Mine", summary="Mine.", implementation="my_project.mine:Mine"))
    texts: dict[str, Any] = {
        "vocabulary": None,
        "table": None,
        "method_options": {"gather_negatives": True},
        "development": {},
    }
    texts["training"] = {"max_steps": 3, "processes": 2}
    simcse = run_job(make_job("simcse", method="simcse", **texts))
    mine = run_job(make_job("mine", method="mine", **texts))
    assert [line["loss"] for line in mine.history] == [line["loss"] for line in simcse.history]


def test_a_batch_size_that_is_no_multiple_of_torchrun_s_processes_is_refused(
    make_job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"LOCAL_RANK": "0", "RANK": "0", "WORLD_SIZE": "3"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(EaseError, match=r"`batch_size` \d+ is not a multiple of 3 `processes`"):
        run_job(make_job())


def test_a_second_ctrl_c_stops_at_once() -> None:
    with stop_requests() as stop:
        assert not stop
        os.kill(os.getpid(), signal.SIGINT)
        assert stop
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.signal_number == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_a_process_stops_when_its_launcher_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [StopRequest()]
    monkeypatch.setenv(LAUNCHER_VARIABLE, "torchrun")
    requests.append(StopRequest())
    assert not any(requests)
    monkeypatch.setattr(os, "getppid", lambda: 1)
    assert all(requests)
    monkeypatch.delenv(LAUNCHER_VARIABLE)
    assert not any(requests), "a shell's end is no request"
