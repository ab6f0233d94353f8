"""AdamW for the table of entities or tokens: the result of dense steps on all rows, computed for the rows in use."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from ease.training.row_adam import round_at_random

MOMENTUM_STEPS = 200
"""Steps without a gradient after which a row stands still: 0.9^200 of the first moment moves no float32"""

DENOMINATOR_STEPS = (1, 2, 4, 8, 16, 32, 64)
"""Steps without a gradient at which the denominators are computed; between them, they are interpolated"""

ROWS_AT_ONCE = 4096
"""Rows that are brought up to date at once"""


class RowAdamW(Optimizer):
    """`torch.optim.AdamW` on a table of n rows, most of which have no gradient in a step.

    AdamW moves a row also in the steps without a gradient for it, by the first moment that is left. These steps are
    applied when the row is read: call `catch_up` with the rows before they are read, and without arguments before all
    of them are. `step` expects the rows of a coalesced sparse gradient to be up to date.

    With t the last step in which a row had a gradient, m and v its moments then and η a rate divided by the first
    moment's bias correction, the k-th step after t subtracts η(t+k) β₁ᵏ m / (√v b(k) + ε), where
    b(k) = β₂^(k/2) / √(1 - β₂^(t+k)) changes slowly. So η(t+k) β₁ᵏ is summed exactly, over `MOMENTUM_STEPS` steps, and
    m / (√v b(k) + ε) is interpolated in log(k + 1) from its values at `DENOMINATOR_STEPS`. The error is less than 3e-6
    of the sum, and less than 3e-7 for t ≥ 200.

    A table of n rows and d columns takes 4·n·d bytes, its moments 8·n·d in single precision or 4·n·d in bf16 (rounded
    at random, see `RowAdam`), and the numbers of steps 8·n.

    References:
        Loshchilov and Hutter 2019, algorithm 2.
    """

    def __init__(
        self,
        table: Tensor,
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        moments: torch.dtype = torch.float32,
    ) -> None:
        """Optimise a table, (n, d) in single precision."""
        super().__init__([table], {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})
        self._table = table
        self._moments = moments
        # In float64, since Lagrange polynomials have both signs
        steps = torch.arange(1, MOMENTUM_STEPS + 1, dtype=torch.float64, device=table.device)
        self._nodes = torch.tensor(DENOMINATOR_STEPS, dtype=torch.float64, device=table.device)
        self._fading = betas[0] ** steps
        self._interpolation = lagrange_polynomials(self._nodes.add(1).log(), steps.add(1).log())

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state in its types; torch would convert all tensors to that of the table."""
        super().load_state_dict({**state_dict, "state": {}})
        device = self._table.device
        for name, value in state_dict["state"].get(0, {}).items():
            if isinstance(value, Tensor):
                value = value.to(device)
            self.state[self._table][name] = value

    def _first_state(self) -> dict[str, Any]:
        rows = len(self._table)
        device = self._table.device
        moments = torch.zeros_like(self._table, dtype=self._moments)
        return {
            "step": 0,
            "first": moments,
            "second": moments.clone(),
            # Of each row, the last step with a gradient, to which its moments belong
            "gradient_steps": torch.zeros(rows, dtype=torch.int32, device=device),
            # Of each row, the last step that its weights have
            "weight_steps": torch.zeros(rows, dtype=torch.int32, device=device),
            # Of each step, the bias-corrected rate and the logarithm of the product of all decays; 0 in the future
            "rates": torch.zeros(MOMENTUM_STEPS + 1, dtype=torch.float64, device=device),
            "decays": torch.zeros(MOMENTUM_STEPS + 1, dtype=torch.float64, device=device),
        }

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update the rows of the table's coalesced sparse gradient."""
        if self._table.grad is None:
            return
        (group,) = self.param_groups
        state = self.state[self._table]
        if not state:
            state.update(self._first_state())
        state["step"] += 1
        step = state["step"]
        small, large = group["betas"]
        rate = group["lr"] / (1 - small**step)
        decay = 1 - group["lr"] * group["weight_decay"]
        self._log_step(state, rate, decay)
        rows = self._table.grad._indices()[0]
        gradient = self._table.grad._values()
        missed = (step - state["gradient_steps"][rows]).double()[:, None]
        # Beyond, the first moment's rest rounds to nothing; as a denormal number it would slow down a CPU.
        fading = (small**missed).masked_fill(missed > 2 * MOMENTUM_STEPS, 0.0)
        first = state["first"][rows].float().mul_(fading.float()).add_(gradient, alpha=1 - small)
        second = state["second"][rows].float().mul_((large**missed).float())
        second.addcmul_(gradient, gradient, value=1 - large)
        self._store_moments(state, rows, first, second)
        denominators = second.sqrt_().div_(math.sqrt(1 - large**step)).add_(group["eps"])
        weights = self._table[rows].mul_(decay).addcdiv_(first, denominators, value=-rate)
        self._table.index_copy_(0, rows, weights)
        state["gradient_steps"][rows] = step
        state["weight_steps"][rows] = step

    def _log_step(self, state: dict[str, Any], rate: float, decay: float) -> None:
        step = state["step"]
        for name in ("rates", "decays"):
            # Windows of `MOMENTUM_STEPS` steps reach into the future.
            if step + MOMENTUM_STEPS >= len(state[name]):
                state[name] = torch.cat([state[name], torch.zeros_like(state[name])])
        state["rates"][step] = rate
        state["decays"][step] = state["decays"][step - 1] + math.log(decay)

    def _store_moments(self, state: dict[str, Any], rows: Tensor, first: Tensor, second: Tensor) -> None:
        # Seeded by the step: a resumed training run rounds alike, and dropout's random numbers stay what they were.
        generator = torch.Generator(rows.device).manual_seed(state["step"])
        for name, moment in (("first", first), ("second", second)):
            rounded = moment
            if self._moments != torch.float32:
                rounded = round_at_random(moment, generator)
            state[name].index_copy_(0, rows, rounded)

    @torch.no_grad()
    def catch_up(self, rows: Tensor | None = None) -> None:
        """Apply the steps that rows have missed.

        Args:
            rows: (u,), different rows of the table. Default: all.
        """
        (group,) = self.param_groups
        state = self.state[self._table]
        if not state:
            return
        all_rows = rows is None
        if rows is None:
            rows = torch.arange(len(self._table), device=self._table.device)
        # On a GPU, the host would have to wait for the number of these rows.
        if all_rows or rows.device.type == "cpu":
            last_gradient = state["gradient_steps"][rows]
            last_step = state["weight_steps"][rows]
            is_late = last_step < state["step"]
            if not group["weight_decay"]:
                is_late &= (last_gradient > 0) & (last_step < last_gradient + MOMENTUM_STEPS)
            rows = rows[is_late]
            if not len(rows):
                return
        for block in rows.split(ROWS_AT_ONCE):
            self._apply_missed_steps(block, group, state)

    def _apply_missed_steps(self, rows: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        _, large = group["betas"]
        last_gradient = state["gradient_steps"][rows].long()[:, None]
        last_step = state["weight_steps"][rows].long()[:, None]
        steps = last_gradient + torch.arange(1, MOMENTUM_STEPS + 1, device=rows.device)
        # η(t+k) β₁ᵏ, (u, MOMENTUM_STEPS), of the steps that the weights do not have yet
        shares = state["rates"][steps] * self._fading * (steps > last_step)
        weights = self._table[rows]
        if group["weight_decay"]:
            # A step's change decays in the later steps.
            decay = state["decays"][state["step"]]
            shares *= torch.exp(decay - state["decays"][steps])
            weights *= torch.exp(decay - state["decays"][last_step]).float()
        numerators = (shares @ self._interpolation).float()
        exponents = last_gradient + self._nodes
        scales = (large ** (self._nodes / 2) / (1 - large**exponents).sqrt()).float()
        roots = state["second"][rows].float().sqrt_()
        change = torch.zeros_like(roots)
        for numerator, scale in zip(numerators.split(1, dim=1), scales.split(1, dim=1), strict=True):
            change.addcdiv_(numerator, (roots * scale).add_(group["eps"]))
        weights.addcmul_(change, state["first"][rows].float(), value=-1)
        self._table.index_copy_(0, rows, weights)
        state["weight_steps"][rows] = state["step"]


def lagrange_polynomials(nodes: Tensor, places: Tensor) -> Tensor:
    """Return each node's Lagrange polynomial at places, (places, nodes): 1 at its node, 0 at the other nodes."""
    polynomials = torch.ones(len(places), len(nodes), dtype=nodes.dtype, device=nodes.device)
    for number, node in enumerate(nodes):
        for other in (*nodes[:number], *nodes[number + 1 :]):
            polynomials[:, number] *= (places - other) / (node - other)
    return polynomials
