"""Linear layers with oneDNN's matrix products, in single precision on a CPU.

torch's products are MKL's, which do not use AVX-512 on AMD processors; oneDNN's do. They are equal up to rounding.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

BLOCK = 64
"""Rows are padded with zeros to a multiple: oneDNN makes kernels for each number of rows and keeps their memory."""


def has_onednn() -> bool:
    """Return whether this CPU and this build of torch multiply by oneDNN, and the user has not switched it off."""
    return (
        platform.machine() in ("x86_64", "AMD64")
        and torch.backends.mkldnn.is_available()
        and bool(torch._C._get_mkldnn_enabled())
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )


class OneDnnLinear(nn.Linear):
    """A linear layer with oneDNN's products in single precision on a CPU; it is torch's own otherwise."""

    def forward(self, input: Tensor) -> Tensor:
        """Map (..., inputs) to (..., outputs)."""
        single = input.dtype == self.weight.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
        if input.device.type != "cpu" or not single or not input.numel():
            return super().forward(input)
        rows: Tensor = _Linear.apply(input.reshape(-1, self.in_features), self.weight, self.bias)
        return rows.view(*input.shape[:-1], self.out_features)


class _Linear(torch.autograd.Function):
    """The products of a linear layer, (n, inputs) and (outputs, inputs) -> (n, outputs), and of its gradients."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        count, rows = len(rows), _padded(rows)
        ctx.save_for_backward(rows, weight)
        return _product(rows, weight, bias)[:count]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        rows, weight = ctx.saved_tensors
        for_rows, for_weight, for_bias = ctx.needs_input_grad
        count, gradients, of_weight = len(gradients), _padded(gradients), None
        if for_weight:  # the left factor is copied if it is transposed: the smaller one is on the left
            smaller = rows.shape[1] < gradients.shape[1]
            of_weight = _product(rows.T, gradients.T).T if smaller else _product(gradients.T, rows.T)
        return (
            _product(gradients, weight.T)[:count] if for_rows else None,
            of_weight,
            gradients.sum(0) if for_bias else None,
        )


def _padded(rows: Tensor) -> Tensor:
    missing = -len(rows) % BLOCK
    return functional.pad(rows, (0, 0, 0, missing)) if missing else rows


def _product(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return `left @ right.T + bias`."""
    # The only operation of torch that gives dense single-precision matrices to oneDNN; it has no gradient.
    product: Tensor = torch.ops.mkldnn._linear_pointwise(left, right, bias, "none", [], "")
    return product


def use_onednn(encoder: nn.Module) -> list[nn.Linear]:
    """Turn an encoder's plain linear layers into oneDNN's in place, hooks included, and return them.

    The saved encoder does not change.
    """
    # Weights of another type than a parameter, such as quantised ones, have products of their own.
    plain = [one for one in encoder.modules() if type(one) is nn.Linear and type(one.weight) is nn.Parameter]
    for module in plain:
        module.__class__ = OneDnnLinear
    return plain


@contextmanager
def onednn_products(encoder: nn.Module) -> Iterator[None]:
    """Use oneDNN's linear layers in this block."""
    replaced = use_onednn(encoder)
    try:
        yield
    finally:
        for module in replaced:
            module.__class__ = nn.Linear
