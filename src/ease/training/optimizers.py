"""The optimizers: AdamW for the encoder, lazy Adam for the entity table."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from torch.optim import AdamW, Optimizer, SparseAdam

from ease.training.model import TrainingModel
from ease.training.options import TrainingOptions


def rate_share(step: int, steps: int, warmup: float, schedule: str) -> float:
    """Return the fraction of the peak learning rate at a step, from 1: linear warm-up, then the schedule."""
    rise = round(warmup * steps)
    if schedule == "constant":
        return min(1.0, step / (rise + 1))
    if step <= rise:
        return step / (rise + 1)
    # The last step has a rate above 0, as the first one has.
    return (steps - step + 1) / (steps - rise)


class Optimizers:
    """AdamW for dense gradients and `SparseAdam` for rows of the entity table, stepped together."""

    def __init__(self, model: TrainingModel, options: TrainingOptions) -> None:
        """Make the optimizers of a model; weight decay applies to matrices only."""
        self._options = options
        self._parameters = [weights for weights in model.parameters() if weights.requires_grad]
        matrices = [weights for weights in self._parameters if weights.ndim > 1]
        vectors = [weights for weights in self._parameters if weights.ndim <= 1]
        groups = [{"params": matrices, "weight_decay": options.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
        self.by_name: dict[str, Optimizer] = {"encoder": AdamW(groups, lr=options.learning_rate, fused=True)}
        self._peaks = {"encoder": options.learning_rate}
        self._table = model.method.table
        if self._table is not None:
            peak = options.entity_learning_rate or options.learning_rate
            weight = self._table.weight
            if options.entity_moments == "bf16":
                self.by_name["entities"] = RowAdam([weight], lr=peak, moments=torch.bfloat16)
            elif weight.device.type == "cuda":
                self.by_name["entities"] = RowAdam([weight], lr=peak, moments=torch.float32)
            else:
                self.by_name["entities"] = SparseAdam([weight], lr=peak)
            self._peaks["entities"] = peak

    def set_rates(self, share: float) -> float:
        """Set the learning rates to a fraction of their peaks; return the encoder's."""
        for name, optimizer in self.by_name.items():
            for group in optimizer.param_groups:
                group["lr"] = self._peaks[name] * share
        return self._peaks["encoder"] * share

    def step(self) -> None:
        """Clip and apply the gradients, then clear them."""
        clipped: list[Tensor] = list(self._parameters)
        if self._table is not None:
            clipped.append(self._table.reduce_gradient())
        clip_grad_norm_(clipped, self._options.max_grad_norm or torch.inf)
        if self._table is not None:
            self._table.set_sparse_gradient()
        for optimizer in self.by_name.values():
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)


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
