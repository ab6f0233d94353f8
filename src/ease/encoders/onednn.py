"""Linear layers with oneDNN's matrix products, in single precision on a CPU.

torch's products are MKL's, which do not use AVX-512 on AMD processors; oneDNN's do. They are equal up to rounding.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional
from torch.overrides import TorchFunctionMode

BLOCK = 64
"""Rows are padded with zeros to a multiple: oneDNN makes kernels for each number of rows and keeps their memory."""
PLAIN = (torch.Tensor, nn.Parameter)
"""Types of plain tensors; others, such as quantised weights, have products of their own"""


def has_onednn() -> bool:
    """Return whether this CPU and this build of torch multiply by oneDNN, and the user has not switched it off."""
    return (
        platform.machine() in ("x86_64", "AMD64")
        and torch.backends.mkldnn.is_available()
        and bool(torch._C._get_mkldnn_enabled())
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )


class OneDnnProducts(TorchFunctionMode):
    """Computes linear layers without gradients by oneDNN in this thread; other layers are left to torch."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Replace the product of a linear layer."""
        if func is functional.linear and not kwargs:
            rows, weight, bias = (*args, None)[:3]
            if _is_known(rows, weight, bias):
                flat = rows.reshape(-1, rows.shape[-1])
                product = _product(_padded(flat), weight, bias)[: len(flat)]
                return product.view(*rows.shape[:-1], len(weight))
        return func(*args, **(kwargs or {}))


def _is_known(rows: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    tensors = [tensor for tensor in (rows, weight, bias) if tensor is not None]
    return (
        all(type(tensor) in PLAIN and tensor.dtype == torch.float32 for tensor in tensors)
        and all(tensor.device.type == "cpu" and tensor.layout == torch.strided for tensor in tensors)
        and weight.ndim == 2
        and rows.ndim > 1
        and min(rows.numel(), weight.numel()) > 0
        and not torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
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
    """The products of a linear layer and of its gradients."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Return (n, outputs) for rows (n, inputs) and a weight (outputs, inputs)."""
        count, rows = len(rows), _padded(rows)
        ctx.save_for_backward(rows, weight)
        return _product(rows, weight, bias)[:count]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Return the gradients of rows, weight and bias that are needed."""
        rows, weight = ctx.saved_tensors
        for_rows, for_weight, for_bias = ctx.needs_input_grad
        count, gradients = len(gradients), _padded(gradients)
        return (
            _product(gradients, weight.T)[:count] if for_rows else None,
            _weight_gradient(gradients, rows) if for_weight else None,
            gradients.sum(0) if for_bias else None,
        )


def _padded(rows: Tensor) -> Tensor:
    missing = -len(rows) % BLOCK
    return functional.pad(rows, (0, 0, 0, missing)) if missing else rows


def _weight_gradient(gradients: Tensor, rows: Tensor) -> Tensor:
    """Return the product over n of gradients (n, outputs) and rows (n, inputs): (outputs, inputs)."""
    # The left factor is copied if it is transposed: the smaller one is on the left.
    if rows.shape[1] < gradients.shape[1]:
        return _product(rows.T, gradients.T).T
    return _product(gradients.T, rows.T)


def _product(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return `left @ right.T + bias`."""
    # The only operation of torch that gives dense single-precision matrices to oneDNN; it has no gradient.
    product: Tensor = torch.ops.mkldnn._linear_pointwise(left, right, bias, "none", [], "")
    return product


def use_onednn(encoder: nn.Module) -> None:
    """Turn an encoder's linear layers into oneDNN's in place, hooks included; the saved encoder does not change."""
    for module in encoder.modules():
        if type(module) is nn.Linear:
            module.__class__ = OneDnnLinear
