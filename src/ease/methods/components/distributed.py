"""Collective operations on tensors, with and without gradients; the identity in a single process."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch
from torch import Tensor, distributed


def process_count() -> int:
    """Return the number of processes."""
    if not distributed.is_initialized():
        return 1
    return distributed.get_world_size()


def process_rank() -> int:
    """Return the rank of this process."""
    if not distributed.is_initialized():
        return 0
    return distributed.get_rank()


def gather(values: Tensor) -> Tensor:
    """Concatenate tensors of equal shape from all processes: (n, ...) -> (processes * n, ...)."""
    if process_count() == 1:
        return values
    parts = [torch.empty_like(values) for _ in range(process_count())]
    # Collective operations read contiguous memory only.
    distributed.all_gather(parts, values.contiguous())
    return torch.cat(parts)


class _GatherWithGradient(torch.autograd.Function):
    """`gather` whose gradient is the sum of all processes' gradients for this process's rows."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        ctx.rows = len(values)
        return gather(values)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        # Every process has a loss that depends on the gathered rows of all: their gradients add up.
        summed = gradients[0].contiguous()
        distributed.all_reduce(summed)
        return summed.narrow(0, process_rank() * ctx.rows, ctx.rows)


def gather_with_gradient(values: Tensor) -> Tensor:
    """Concatenate tensors of all processes; gradients flow back to the process of each row."""
    if process_count() == 1:
        return values
    gathered: Tensor = _GatherWithGradient.apply(values)
    return gathered


def average(values: Tensor) -> Tensor:
    """Average a tensor over all processes, in place."""
    if process_count() > 1:
        distributed.all_reduce(values)
        values /= process_count()
    return values


def cpu_group(timeout: timedelta) -> distributed.ProcessGroup | None:
    """Create a process group on the CPU, in every process; None for a single process."""
    if process_count() == 1:
        return None
    return distributed.new_group(backend="gloo", timeout=timeout)


def any_process(condition: bool, group: distributed.ProcessGroup | None) -> bool:
    """Return whether the condition holds in any process of a CPU group."""
    if group is None:
        return condition
    flag = torch.tensor(condition, dtype=torch.uint8)  # gloo reduces no booleans
    distributed.all_reduce(flag, distributed.ReduceOp.MAX, group)
    return bool(flag)
