"""Lazy Adam for the rows of an entity table: a row moves only in the steps whose gradient has it."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

HAS_TRITON = find_spec("triton") is not None
"""Whether kernels can be compiled; on Linux, triton is a dependency of torch"""


class RowAdam(Optimizer):
    """Lazy Adam as in `torch.optim.SparseAdam`, whose moments may be stored in bf16; on a GPU in one kernel.

    The table and the gradient stay in single precision, in which the step is computed. A table of n rows and d columns
    takes 4·n·d bytes, and its moments 4·n·d in bf16 and 8·n·d in single precision.

    The second moment moves by a thousandth in a step, which is less than half the distance between two numbers in
    bf16: rounded to the nearest, it would stay where it is. So moments are rounded up or down at random, with their
    true value as expectation (Gupta et al. 2015, section 3.1).

    References:
        Kingma and Ba 2015, algorithm 1.
    """

    def __init__(
        self,
        tables: list[Tensor],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        moments: torch.dtype = torch.bfloat16,
    ) -> None:
        """Optimise tables, each (n, d) in single precision, with moments of one type."""
        super().__init__(tables, {"lr": lr, "betas": betas, "eps": eps})
        self._moments = moments

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the moments in their type; torch would first make copies in that of the table."""
        states = state_dict["state"]
        steps = {number: {"step": state["step"]} for number, state in states.items()}
        super().load_state_dict({**state_dict, "state": steps})
        tables = [table for group in self.param_groups for table in group["params"]]
        for number, state in states.items():
            table = tables[number]
            for name in ("first", "second"):
                self.state[table][name] = state[name].to(table.device, self._moments)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update the rows of each table's coalesced sparse gradient."""
        for group in self.param_groups:
            for table in group["params"]:
                if table.grad is not None:
                    self._update(table, group)

    def _update(self, table: Tensor, group: dict[str, Any]) -> None:
        state = self.state[table]
        if not state:
            zeros = torch.zeros_like(table, dtype=self._moments)
            state.update(step=0, first=zeros, second=zeros.clone())
        state["step"] += 1
        rows = table.grad._indices()[0]  # type: ignore[union-attr]
        gradient = table.grad._values()  # type: ignore[union-attr]
        small, large = group["betas"]
        # Both moments start at 0, a bias that this corrects.
        rate = group["lr"] * (1 - large ** state["step"]) ** 0.5 / (1 - small ** state["step"])
        if table.device.type == "cuda" and HAS_TRITON:
            from ease.training.row_adam_kernel import step_rows

            moments = state["first"], state["second"]
            step_rows(table, moments, rows, gradient, rate, group["eps"], (small, large), state["step"])
            return
        first = state["first"][rows].float().lerp_(gradient, 1 - small)
        second = state["second"][rows].float().lerp_(gradient.square(), 1 - large)
        # Seeded by the step: a resumed training run rounds alike, and dropout's random numbers stay what they were.
        generator = torch.Generator(table.device).manual_seed(state["step"])
        for name, moment in (("first", first), ("second", second)):
            rounded = moment
            if self._moments != torch.float32:
                rounded = round_at_random(moment, generator)
            state[name].index_copy_(0, rows, rounded)
        change = first.div_(second.sqrt_().add_(group["eps"])).mul_(-rate)
        table.index_copy_(0, rows, table[rows] + change)


def round_at_random(values: Tensor, generator: torch.Generator) -> Tensor:
    """Round finite float32 to bf16, up or down, with each value as the expectation of its result."""
    # bf16 is the upper half of float32: a random number is added to the lower half, which is then cut off.
    noise = torch.randint(1 << 16, values.shape, generator=generator, dtype=torch.int32, device=values.device)
    return ((values.view(torch.int32) + noise) & -(1 << 16)).view(torch.float32).to(torch.bfloat16)
