"""The faster precision of an encoder on this CPU, which `precision: auto` takes."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import nn

LEAST_WEIGHTS = 10_000_000
"""Weights of linear layers from which bf16 is taken: MiniLM's six layers have 10.6 million.

Smaller encoders, such as those of the sample and the tests, are fast anyway: they compute the same on every CPU.
"""


class CpuPrecision(NamedTuple):
    """A precision, and why it is the faster one."""

    precision: Literal["fp32", "bf16"]
    reason: str


def has_amx() -> bool:
    """Return whether this CPU multiplies matrices in bf16 by AMX instructions.

    AVX-512's bf16 instructions alone do not count: on an Intel CPU without AMX, products in bf16 take twice as long as
    in fp32 (docs/benchmarks.md).
    """
    # Older versions of torch do not document a way to ask.
    if not hasattr(torch.cpu, "get_capabilities"):
        return torch.cpu._is_amx_tile_supported()
    return bool(torch.cpu.get_capabilities().get("amx_bf16", False))


def faster_cpu_precision(encoder: nn.Module) -> CpuPrecision:
    """Return bf16 for encoders with `LEAST_WEIGHTS` on a CPU with AMX, else fp32."""
    if not has_amx():
        return CpuPrecision("fp32", "this CPU has no AMX")
    weights = sum(module.weight.numel() for module in encoder.modules() if isinstance(module, nn.Linear))
    if weights < LEAST_WEIGHTS:
        return CpuPrecision("fp32", f"linear layers have fewer than {LEAST_WEIGHTS:,} weights")
    return CpuPrecision("bf16", "this CPU has AMX")
