"""The faster precision of an encoder on this CPU, which `precision: auto` takes."""

from __future__ import annotations

import time
from functools import cache
from typing import Literal, NamedTuple

import torch
from torch import nn

LEAST_WEIGHTS = 10_000_000
"""Weights of linear layers from which bf16 is taken: MiniLM's six layers have 10.6 million.

Smaller encoders, such as those of the sample and the tests, are fast anyway: they compute the same on every CPU.
"""
LEAST_GAIN = 1.3
"""How many times as fast as in fp32 products must be in bf16, since the other operations gain nothing"""
PRODUCT = (512, 384, 1536)
"""Rows, inputs and outputs of the product that is timed: a layer of a small encoder and a batch of it"""
ROUNDS = 5


class CpuPrecision(NamedTuple):
    """A precision, and why it is the faster one."""

    precision: Literal["fp32", "bf16"]
    reason: str


def has_bf16() -> bool:
    """Return whether this CPU has instructions for products of matrices in bf16, AMX's or AVX-512's."""
    return has_amx() or _has("avx512_bf16")


def has_amx() -> bool:
    """Return whether this CPU has AMX's instructions for products of matrices in bf16."""
    return _has("amx_bf16")


def _has(instructions: Literal["amx_bf16", "avx512_bf16"]) -> bool:
    if hasattr(torch.cpu, "get_capabilities"):
        return bool(torch.cpu.get_capabilities().get(instructions))
    # Older versions of torch do not document a way to ask.
    if instructions == "amx_bf16":
        return torch.cpu._is_amx_tile_supported()
    return torch.cpu._is_avx512_bf16_supported()


@cache
def bf16_gain() -> float:
    """Time how many times as fast as in fp32 one thread multiplies matrices in bf16: 50 ms, once a process.

    The instructions alone do not tell: with AMX, products are five times as fast, with AVX-512's bf16 twice as fast on
    AMD's CPUs and half as fast on Intel's (docs/benchmarks.md).
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _product_seconds(torch.float32) / _product_seconds(torch.bfloat16)
    finally:
        torch.set_num_threads(threads)


@torch.inference_mode()
def _product_seconds(dtype: torch.dtype) -> float:
    rows, inputs, outputs = PRODUCT
    left = torch.ones(rows, inputs, dtype=dtype)
    weight = torch.ones(outputs, inputs, dtype=dtype)
    seconds = []
    for _ in range(ROUNDS):
        # The fewest seconds of the thread itself hardly depend on other processes.
        started = time.thread_time()
        nn.functional.linear(left, weight)
        seconds.append(time.thread_time() - started)
    return min(seconds)


def faster_cpu_precision(encoder: nn.Module) -> CpuPrecision:
    """Return bf16 for encoders with `LEAST_WEIGHTS` on a CPU whose products are faster in bf16, else fp32."""
    weights = sum(module.weight.numel() for module in encoder.modules() if isinstance(module, nn.Linear))
    if weights < LEAST_WEIGHTS:
        return CpuPrecision("fp32", f"linear layers have fewer than {LEAST_WEIGHTS:,} weights")
    if not has_bf16():
        return CpuPrecision("fp32", "this CPU has no bf16 instructions")
    if bf16_gain() < LEAST_GAIN:
        return CpuPrecision("fp32", "this CPU multiplies hardly faster in bf16, or slower")
    return CpuPrecision("bf16", "this CPU multiplies faster in bf16")
