"""Trainings on CUDA devices: half precision, determinism, resume, and two devices."""

from __future__ import annotations

import gc
import shutil
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertModel

from ease.training import loop, packing
from ease.training.job import run_job
from ease.training.optimizers import Optimizers
from ease.training.row_adam import RowAdam
from ease.training.row_adamw import RowAdamW
from tests.training.tiny_training import MakeJob, Stop, assert_same, losses, same, stop_at, weights

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")]
GPU: dict[str, Any] = {"device": "auto"}
TOGETHER: dict[str, Any] = {
    "method_options": {"gather_negatives": True},
    "encoder": "encoder_without_dropout",
    "development": {},
}
CAN_COMPILE = shutil.which("cc") and Path(sysconfig.get_path("include"), "Python.h").exists()
COMPILING = pytest.mark.skipif(not CAN_COMPILE, reason="torch needs a C compiler and Python's headers")
CHANGES = [
    pytest.param({"packed": True, "length_chunks": None, "graphs": False}, id="packed"),
    pytest.param({"compiled": True}, id="compiled", marks=COMPILING),
    pytest.param(
        {"packed": True, "length_chunks": None, "graphs": False, "compiled": True},
        id="packed-compiled",
        marks=COMPILING,
    ),
]

GRAPHS = [
    pytest.param({"graphs": True, "length_chunks": None}, id="graphs"),
    pytest.param({"graphs": True, "length_chunks": None, "compiled": True}, id="graphs-compiled", marks=COMPILING),
]
ACCUMULATED = pytest.param({"graphs": True, "length_chunks": None, "sub_batch_size": 8}, id="graphs-accumulated")


@pytest.fixture(autouse=True)
def gpu_in_use() -> Any:
    """Check that training runs in this process use the device."""
    gc.collect()  # an earlier test's model, which would make room for this test's
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    yield
    assert torch.cuda.max_memory_allocated() > before + 100_000


def test_single_precision_computes_what_a_cpu_computes_and_bf16_is_near(make_job: MakeJob) -> None:
    changes: dict[str, Any] = {"encoder": "encoder_without_dropout", "development": {}}
    here = run_job(make_job("here", **changes))
    for precision, noise in (("fp32", 1e-3), ("auto", 2e-2)):
        there = run_job(make_job(precision, training={**GPU, "precision": precision}, **changes))
        assert list(losses(there).values()) == pytest.approx(list(losses(here).values()), rel=noise)


@pytest.mark.parametrize("precision", ["auto", "fp32"])
def test_a_training_repeats_and_resumes_exactly(make_job: MakeJob, precision: str) -> None:
    training = {**GPU, "precision": precision}
    whole, broken = run_job(make_job("whole", training=training)), make_job("broken", training=training)
    with pytest.raises(Stop):
        run_job(broken, stop_at(6))
    assert_same(run_job(broken), whole)
    assert_same(run_job(make_job("again", training=training)), whole)


def test_no_step_makes_the_host_wait_for_the_device(make_job: MakeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    def guarded(function: Any) -> Any:
        def call(*given: Any) -> Any:
            torch.cuda.set_sync_debug_mode("error")
            try:
                return function(*given)
            finally:
                torch.cuda.set_sync_debug_mode("default")

        return call

    monkeypatch.setattr(loop, "add_gradients", guarded(loop.add_gradients))
    monkeypatch.setattr(Optimizers, "step", guarded(Optimizers.step))
    run_job(make_job(method="ease_plus", training={**GPU, "graphs": False}, development={}))


@pytest.mark.parametrize(("precision", "noise"), [("fp32", 1e-3), ("auto", 2e-2)])
def test_a_training_in_mini_batches_equals_the_direct_one(make_job: MakeJob, precision: str, noise: float) -> None:
    """With dropout, whose masks the device's generator draws."""
    training = {**GPU, "precision": precision}
    direct = run_job(make_job("direct", training={**training, "length_chunks": 4}, development={}))
    cached = run_job(make_job("cached", training={**training, "mini_batch_size": 4}, development={}))
    assert list(losses(cached).values()) == pytest.approx(list(losses(direct).values()), rel=noise)


@pytest.mark.parametrize(("precision", "noise"), [("fp32", 1e-3), ("auto", 2e-2)])
@pytest.mark.parametrize("change", [*CHANGES, *GRAPHS])
def test_memory_packing_and_compilation_change_the_losses_by_rounding(
    make_job: MakeJob, change: dict[str, Any], precision: str, noise: float
) -> None:
    training = {**GPU, "precision": precision}
    plain, changed = (
        run_job(make_job(name, training={**training, **own}, encoder="encoder_without_dropout", development={}))
        for name, own in (("plain", {}), ("changed", change))
    )
    assert list(losses(changed).values()) == pytest.approx(list(losses(plain).values()), rel=noise)
    assert weights(changed).keys() == weights(plain).keys()


@pytest.mark.parametrize("precision", ["fp32", "auto"])
@pytest.mark.parametrize("method", ["ease", "ease_plus", "simcse"])
def test_graphs_compute_the_same_bits(
    make_job: MakeJob, monkeypatch: pytest.MonkeyPatch, method: str, precision: str
) -> None:
    """With dropout, whose random numbers go on from replay to replay."""
    given = {**GPU, "precision": precision, "length_chunks": None, "graphs": True}
    replayed = run_job(make_job("replayed", method=method, training=given))
    monkeypatch.setattr(packing, "MAX_SHAPES", 0)
    rows = run_job(make_job("rows", method=method, training=given))
    assert losses(replayed) == losses(rows)
    assert same(weights(replayed), weights(rows))


def test_an_encoder_that_waits_for_the_gpu_is_trained_without_graphs(
    make_job: MakeJob, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    given = {**GPU, "length_chunks": None, "graphs": True}
    with monkeypatch.context() as none:
        none.setattr(packing, "MAX_SHAPES", 0)
        rows = run_job(make_job("rows", training=given))
    forward = BertModel.forward

    def wait(model: BertModel, *arguments: Any, **options: Any) -> Any:
        float(next(model.parameters()).sum())
        return forward(model, *arguments, **options)

    monkeypatch.setattr(BertModel, "forward", wait)
    refused = run_job(make_job("refused", training=given))
    assert "goes on without CUDA graphs" in caplog.text
    assert same(weights(refused), weights(rows))


@pytest.mark.parametrize("moments", [torch.float32, torch.bfloat16])
def test_the_kernel_of_the_table_computes_what_a_cpu_computes(moments: torch.dtype) -> None:
    here, there = torch.ones(3000, 100), torch.ones(3000, 100, device="cuda")
    on_cpu, on_gpu = (
        RowAdam([table], lr=0.01, moments=kind) for table, kind in ((here, torch.float32), (there, moments))
    )
    drawn = torch.Generator().manual_seed(0)
    for _ in range(20):
        rows = torch.randperm(3000, generator=drawn)[:1000]
        gradient = torch.randn(1000, 100, generator=drawn)
        for table, optimizer in ((here, on_cpu), (there, on_gpu)):
            table.grad = torch.sparse_coo_tensor(rows[None], gradient, table.shape, is_coalesced=True).to(table.device)
            optimizer.step()
    tolerance = 1e-6 if moments == torch.float32 else 0.02
    torch.testing.assert_close(there.cpu(), here, rtol=0, atol=tolerance)
    second, expected = (
        optimizer.state[table]["second"].float().mean() for optimizer, table in ((on_gpu, there), (on_cpu, here))
    )
    assert float(second) == pytest.approx(float(expected), rel=0.01)


def test_dense_steps_of_the_table_are_those_of_a_cpu() -> None:
    here, there = (torch.ones(3000, 100, device=device) for device in ("cpu", "cuda"))
    optimizers = [RowAdamW(table, lr=0.01, weight_decay=0.1) for table in (here, there)]
    drawn = torch.Generator().manual_seed(0)
    for _ in range(40):
        rows = torch.randperm(3000, generator=drawn)[:300]
        gradient = torch.randn(300, 100, generator=drawn)
        for table, optimizer in zip((here, there), optimizers, strict=True):
            optimizer.catch_up(rows.to(table.device))
            table.grad = torch.sparse_coo_tensor(rows[None], gradient, table.shape, is_coalesced=True).to(table.device)
            optimizer.step()
    for optimizer in optimizers:
        optimizer.catch_up()
    torch.testing.assert_close(there.cpu(), here, rtol=0, atol=2e-6)


@pytest.mark.parametrize("change", [*CHANGES, *GRAPHS, ACCUMULATED])
def test_they_resume_exactly(make_job: MakeJob, change: dict[str, Any]) -> None:
    training = {**GPU, **change}
    whole, broken = run_job(make_job("whole", training=training)), make_job("broken", training=training)
    with pytest.raises(Stop):
        run_job(broken, stop_at(6))
    assert_same(run_job(broken), whole)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="there are not two CUDA devices")
def test_two_devices_equal_one(make_job: MakeJob) -> None:
    training = {**GPU, "precision": "fp32"}
    one = run_job(make_job("one", training=training, **TOGETHER))
    two = run_job(make_job("two", training={**training, "processes": 2}, **TOGETHER))
    assert list(losses(two).values()) == pytest.approx(list(losses(one).values()), rel=1e-3)
    assert weights(two).keys() == weights(one).keys()
    for name, value in weights(one).items():
        assert np.allclose(weights(two)[name], value, atol=1e-3), name
