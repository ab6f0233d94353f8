"""Tensors of all processes, with and without their gradients; the identity in a single process."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch
from torch import Tensor, distributed


def process_count() -> int:
    """Number of processes that train together."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def process_rank() -> int:
    """Number of this process, from 0."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def gather(values: Tensor) -> Tensor:
    """Concatenate the tensors of all processes, which have one shape: (n, ...) -> (processes * n, ...)."""
    if process_count() == 1:
        return values
    parts = [torch.empty_like(values) for _ in range(process_count())]
    distributed.all_gather(parts, values.contiguous())
    return torch.cat(parts)


def average(values: Tensor) -> Tensor:
    """Average a tensor over all processes, in place."""
    if process_count() > 1:
        distributed.all_reduce(values)
        values /= process_count()
    return values


def cpu_group(timeout: timedelta) -> distributed.ProcessGroup | None:
    """Create a group whose messages wait for no GPU; every process takes part. None for a single process."""
    return distributed.new_group(backend="gloo", timeout=timeout) if process_count() > 1 else None


def any_process(condition: bool, group: distributed.ProcessGroup | None) -> bool:
    """Return whether the condition holds in any process of a group of CPUs: the same answer in all of them."""
    if group is None:
        return condition
    found = torch.tensor(condition, dtype=torch.uint8)
    distributed.all_reduce(found, distributed.ReduceOp.MAX, group)
    return bool(found)


class _GatherWithGradient(torch.autograd.Function):
    """`gather`, whose gradient sums what every process's loss asks of this process's rows."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        ctx.rows = len(values)
        return gather(values)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        summed = gradients[0].contiguous()
        distributed.all_reduce(summed)
        start = process_rank() * ctx.rows
        return summed[start : start + ctx.rows]


def gather_with_gradient(values: Tensor) -> Tensor:
    """Concatenate the tensors of all processes; a row's gradient flows back to the process it came from."""
    if process_count() == 1:
        return values
    gathered: Tensor = _GatherWithGradient.apply(values)
    return gathered
