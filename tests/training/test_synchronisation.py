"""No operation in a step makes the host wait for the device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from ease.methods.components.entity_losses import NO_ENTITY
from ease.methods.components.entity_table import EntityTable, Rows
from ease.training import loop
from ease.training.accumulation import add_gradients
from ease.training.job import run_job
from ease.training.optimizers import Optimizers
from tests.training.tiny_training import MakeJob

aten = torch.ops.aten
WAITING = {
    aten._local_scalar_dense.default,  # item(), float(), if
    aten.is_nonzero.default,
    aten.equal.default,
    aten.nonzero.default,
    aten.masked_select.default,
    aten._unique.default,
    aten._unique2.default,
    aten.unique_dim.default,
    aten.unique_consecutive.default,
    aten.bincount.default,
    aten.repeat_interleave.Tensor,
}
"""Operations whose result has a size or a value that the host needs"""


class NoWaiting(TorchDispatchMode):
    """Refuses operations that read a tensor on the host, or whose result's size depends on its values."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Refuse some operations, and compute the others."""
        by_mask = func is aten.index.Tensor and any(
            isinstance(part, Tensor) and part.dtype in (torch.bool, torch.uint8) for part in args[1]
        )
        assert func not in WAITING, f"{func} waits for the device"
        assert not by_mask, "an index by a mask waits for the device"
        return func(*args, **(kwargs or {}))


@contextmanager
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Refuse waiting in the gradients and the update of every step; yield the parts that ran."""
    ran: list[str] = []

    def guarded(name: str, function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            ran.append(name)
            with NoWaiting():
                return function(*arguments)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(loop, "add_gradients", guarded("gradients", add_gradients))
        patch.setattr(Optimizers, "step", guarded("update", Optimizers.step))
        yield ran


CASES: dict[str, dict[str, Any]] = {
    "ease": {},
    "ease without hard negatives": {"method_options": {"hard_negatives": False}},
    "ease_plus": {"method": "ease_plus"},
    "simcse": {"method": "simcse", "vocabulary": None, "table": None},
    "packed": {"training": {"packed": True}},
    "moments in bf16": {"training": {"entity_moments": "bf16"}},
    "in mini-batches": {"training": {"mini_batch_size": 8}},
    "in sub-batches": {"training": {"sub_batch_size": 8}},
    "matryoshka": {"training": {"matryoshka": (8, 16)}},
    "without false negatives": {"method_options": {"mask_same_entity": True}},
}


@pytest.mark.parametrize("case", CASES)
def test_a_step_does_not_wait_for_the_device(
    make_job: MakeJob, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    changes = CASES[case]
    training = {"max_steps": 3, **changes.get("training", {})}
    with without_waiting(monkeypatch) as ran:
        run_job(make_job("guarded", development={}, **{**changes, "training": training}))
    assert ran == ["gradients", "update"] * 3


@pytest.mark.parametrize("wait", [Tensor.item, Tensor.unique, Tensor.nonzero, lambda one: one[one > 0]])
def test_waiting_is_noticed(wait: Any) -> None:
    with NoWaiting(), pytest.raises(AssertionError, match="waits for the device"):
        wait(torch.ones(1))


@pytest.mark.parametrize("case", ["ease", "ease without hard negatives", "ease_plus"])
def test_the_host_finds_the_rows_that_a_step_looks_up(
    make_job: MakeJob, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    look_up, looked_up = EntityTable.forward, []

    def compared(table: EntityTable, *ids: Tensor, used: Rows | None) -> list[Tensor]:
        assert used is not None
        found = torch.cat(ids).unique()
        assert used.tolist() == found[found != NO_ENTITY].tolist()
        looked_up.append(len(used))
        return look_up(table, *ids, used=used)

    monkeypatch.setattr(EntityTable, "forward", compared)
    run_job(make_job("compared", development={}, training={"max_steps": 4}, **CASES[case]))
    assert len(looked_up) == 4
