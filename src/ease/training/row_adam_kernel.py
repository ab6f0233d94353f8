# ruff: noqa: ANN001, ANN202 (the types of a kernel are those of its arguments)
"""The step of `RowAdam` as one kernel of a GPU, which reads and writes every number once."""

from __future__ import annotations

import torch
import triton
from torch import Tensor
from triton import language as tl


def step_rows(
    table: Tensor,
    moments: tuple[Tensor, Tensor],
    rows: Tensor,
    gradient: Tensor,
    rate: float,
    epsilon: float,
    betas: tuple[float, float],
    seed: int,
) -> None:
    """Step rows of a table, (n, d) on a GPU in single precision, in place.

    The moments have the shape of the table, in single precision or in bf16, to which they are rounded at random by the
    seed, below 2³¹. The rows, (u,), are different; the gradient is (u, d). The rate is divided by the correction of the
    moments' bias.
    """
    block = triton.next_power_of_2(table.shape[1])
    _step_row[(len(rows),)](
        table,
        *moments,
        rows,
        gradient.contiguous(),
        rate,
        epsilon,
        *(1 - beta for beta in betas),
        seed,
        table.shape[1],
        BLOCK=block,
        ROUNDED=moments[0].dtype != torch.float32,
        num_warps=min(8, max(1, block // 128)),
    )


# A seed that is divisible by 16 would be compiled for by itself.
@triton.jit(do_not_specialize=["seed"])
def _step_row(  # type: ignore[no-untyped-def]
    table,
    first,
    second,
    rows,
    gradient,
    rate,
    epsilon,
    small,
    large,
    seed,
    width,
    BLOCK: tl.constexpr,
    ROUNDED: tl.constexpr,
):
    number = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < width
    places = tl.load(rows + number) * width + columns
    slope = tl.load(gradient + number * width + columns, mask=inside, other=0.0)
    mean = tl.load(first + places, mask=inside, other=0.0).to(tl.float32)
    square = tl.load(second + places, mask=inside, other=0.0).to(tl.float32)
    mean += small * (slope - mean)
    square += large * (slope * slope - square)
    weights = tl.load(table + places, mask=inside, other=0.0)
    tl.store(table + places, weights - rate * mean / (tl.sqrt(square) + epsilon), mask=inside)
    if ROUNDED:
        # bf16 is the upper half of float32: a random number is added to the lower half, which is then cut off.
        # The 32 random bits serve both moments.
        noise = tl.randint(seed, number.to(tl.int32) * BLOCK + columns).to(tl.int32, bitcast=True)
        mean = ((mean.to(tl.int32, bitcast=True) + (noise & 0xFFFF)) & -65536).to(tl.float32, bitcast=True)
        square = ((square.to(tl.int32, bitcast=True) + ((noise >> 16) & 0xFFFF)) & -65536).to(tl.float32, bitcast=True)
    tl.store(first + places, mean.to(first.dtype.element_ty), mask=inside)
    tl.store(second + places, square.to(second.dtype.element_ty), mask=inside)
