"""Linear layers with oneDNN's matrix products on a CPU.

In single precision, torch's products are MKL's, which do not use AVX-512 on AMD processors; oneDNN's do. In half
precision, torch's are oneDNN's, which rearrange the weights in each product; here, they are rearranged once. All are
equal up to rounding.
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
        padded = _padded(rows)
        ctx.save_for_backward(padded, weight)
        return _product(padded, weight, bias)[: len(rows)]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        rows, weight = ctx.saved_tensors
        needs_rows, needs_weight, needs_bias = ctx.needs_input_grad
        count = len(gradients)
        # The rows of padding are zeros, which add nothing to the gradients of weight and bias.
        gradients = _padded(gradients)
        rows_gradient = None
        weight_gradient = None
        bias_gradient = None
        if needs_rows:
            rows_gradient = _product(gradients, weight.T)[:count]
        # The left factor is copied if it is transposed: the smaller one is on the left.
        if needs_weight and rows.shape[1] < gradients.shape[1]:
            weight_gradient = _product(rows.T, gradients.T).T
        elif needs_weight:
            weight_gradient = _product(gradients.T, rows.T)
        if needs_bias:
            bias_gradient = gradients.sum(0)
        return rows_gradient, weight_gradient, bias_gradient


def _padded(rows: Tensor) -> Tensor:
    missing = -len(rows) % BLOCK
    if not missing:
        return rows
    return functional.pad(rows, (0, 0, 0, missing))


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
    layers = [
        module for module in encoder.modules() if type(module) is nn.Linear and type(module.weight) is nn.Parameter
    ]
    for layer in layers:
        layer.__class__ = OneDnnLinear
    return layers


@contextmanager
def onednn_products(encoder: nn.Module) -> Iterator[None]:
    """Use oneDNN's linear layers in this block."""
    replaced = use_onednn(encoder)
    try:
        yield
    finally:
        for module in replaced:
            module.__class__ = nn.Linear


class PackedLinear(nn.Linear):
    """A linear layer in half precision whose weights are rearranged once; it is torch's own if it is trained."""

    packed: Tensor
    """The weights in oneDNN's order"""

    def forward(self, input: Tensor) -> Tensor:
        """Map (..., inputs) to (..., outputs)."""
        if input.dtype != self.packed.dtype or torch.is_grad_enabled() or not input.numel():
            return super().forward(input)
        return _product(input, self.packed, self.bias)


def pack_weights(encoder: nn.Module, rows: int) -> None:
    """Turn the plain linear layers of an encoder in half precision into packed ones, in place, if the CPU has them.

    `rows` is the usual number of rows of their inputs, for which the order of the weights is chosen.
    """
    if not has_onednn() or not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return
    for module in encoder.modules():
        if type(module) is nn.Linear and module.weight.dtype == torch.bfloat16:
            module.__class__ = PackedLinear
            module.packed = torch.ops.mkldnn._reorder_linear_weight(module.weight.detach(), rows)
