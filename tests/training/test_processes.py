"""Several processes (gloo) equal one process on the joint batch, and produce one model."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ease.errors import EaseError
from ease.training import launching
from ease.training.interruption import TrainingInterrupted
from ease.training.job import run_job
from ease.training.options import TrainingResult
from tests.training.processes import PATIENCE, SOURCE, finish, messages, start
from tests.training.tiny_training import MakeJob, same, weights

TOGETHER = {"method_options": {"gather_negatives": True}, "encoder": "encoder_without_dropout"}
WITHOUT_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="the processes would take the CUDA device")


def terms(result: TrainingResult) -> list[list[float]]:
    return [
        [line["loss"], line["entity_loss"], line["self_loss"]] for line in result.history if "loss" in line
    ]


@pytest.mark.parametrize(
    "training",
    [
        {},
        pytest.param({"device": "auto"}, marks=WITHOUT_GPU),
        {"compiled": True, "entity_memory": "host"},
    ],
)
def test_two_processes_with_gathered_negatives_equal_one_with_the_joint_batch(
    make_job: MakeJob, training: dict[str, Any]
) -> None:
    one = run_job(make_job("one", **TOGETHER))
    job = make_job("two", training={"processes": 2, **training}, **TOGETHER)
    assert finish(start(job, 2)) == [0, 0], messages(job)
    two = run_job(job)
    assert np.allclose(terms(one), terms(two), rtol=1e-5)
    assert one.best_step == two.best_step
    found, expected = weights(two), weights(one)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert np.allclose(found[name], value, atol=2e-5), name
    assert [path.name for path in job.folder.iterdir() if path.is_dir()] == ["model"]


def test_without_gathering_negatives_come_from_the_own_process(make_job: MakeJob) -> None:
    changes: dict[str, Any] = {"encoder": "encoder_without_dropout", "development": {}}
    one = run_job(make_job("one", training={"max_steps": 1}, **changes))
    job = make_job("two", training={"max_steps": 1, "processes": 2}, **changes)
    assert finish(start(job, 2)) == [0, 0], messages(job)
    # Half the candidates in a denominator: a loss smaller by about log 2 a term.
    assert terms(run_job(job))[0][1] < terms(one)[0][1] - 0.4


@pytest.mark.long
def test_launched_processes_stop_and_torchrun_resumes(
    make_job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    # torchrun starts each process with one thread; with another number sums are rounded otherwise.
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    # Many steps: however late the signal comes on a busy machine, there are some left.
    training = {
        "processes": 2,
        "max_steps": 300,
        "evaluate_every": 300,
        "checkpoint_seconds": 60,
        "mini_batch_size": 3,
    }
    options = {"gather_negatives": True}
    whole, job = (make_job(name, training=training, method_options=options) for name in ("whole", "stopped"))
    ranks = start(whole, 2)

    def stop(step: int, values: dict[str, float]) -> None:
        if step == 1:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(TrainingInterrupted, match=r"stopped after step [1-9]\d* of 300") as stopped:
        run_job(job, stop)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone"]
    environment = {**os.environ, "PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1"}
    command += ["-m", "ease.training", str(job.folder)]
    gone_on = subprocess.run(
        command, env=environment, timeout=PATIENCE, check=True, stderr=subprocess.PIPE, text=True
    )
    assert f"Resuming after step {stopped.value.step}" in gone_on.stderr
    assert finish(ranks) == [0, 0], messages(whole)
    result, expected = run_job(job), run_job(whole)
    assert terms(result) == terms(expected)
    assert same(weights(result), weights(expected))


SLOW = """
import time
import torch
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook

def evaluate_slowly(module, arguments):
    if type(module).__name__ == "SentenceTransformer" and not module.training:
        time.sleep(2)

register_optimizer_step_post_hook(lambda *arguments: time.sleep(0.5))
register_module_forward_pre_hook(evaluate_slowly)
"""
"""Imported by the processes as `sitecustomize`."""


def test_slow_processes_that_are_stopped_save_a_checkpoint(
    make_job: MakeJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW, encoding="utf-8")
    training = {"processes": 2, "evaluate_every": 1, "checkpoint_seconds": 60}
    job = make_job(training=training)

    def stop(step: int, values: dict[str, float]) -> None:
        if step == 1 and "loss" in values:  # an evaluation comes next
            os.kill(os.getpid(), signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        patch.setattr(launching, "GRACE_SECONDS", 0.5)
        with pytest.raises(TrainingInterrupted) as stopped:
            run_job(job, stop)
    assert stopped.value.step <= 3, "at the next occasion, however slow the steps are"
    assert [path.name for path in (job.folder / "checkpoints").iterdir()] == [
        f"step-{stopped.value.step:08d}"
    ]
    reported: list[int] = []
    assert run_job(job, lambda step, _: reported.append(step)).steps == 12
    assert min(reported) == stopped.value.step + 1


def test_an_error_of_a_process_is_raised(make_job: MakeJob) -> None:
    reported: list[int] = []
    training = {"processes": 2, "learning_rate": 1e30, "max_grad_norm": None}
    with pytest.raises(EaseError, match="The loss is nan around step .: the training has diverged"):
        run_job(make_job(training=training, development={}), lambda step, _: reported.append(step))
    assert reported[0] == 1
    with pytest.raises(ValueError, match="is not a multiple of 3 `processes`"):
        make_job(training={"processes": 3})


def test_a_batch_size_that_is_no_multiple_of_torchrun_s_processes_is_refused(
    make_job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"LOCAL_RANK": "0", "RANK": "0", "WORLD_SIZE": "3"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(EaseError, match=r"`batch_size` \d+ is not a multiple of 3 `processes`"):
        run_job(make_job())
