"""Fast matrix products of linear layers on a CPU."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

PRECISE = (torch.Tensor, torch.nn.Parameter)
"""Types of plain tensors; others, such as quantised weights, have products of their own"""


class OneDnnProducts(TorchFunctionMode):
    """Compute linear layers without gradients by oneDNN, in this thread and on a CPU.

    torch multiplies 32-bit matrices by MKL, which does not use AVX-512 on AMD's CPUs; oneDNN does. The products are
    equal up to rounding. Layers that oneDNN is not known to compute equally are left to torch.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Replace the product of a linear layer."""
        if func is torch.nn.functional.linear and not kwargs:
            rows, weight, bias = (*args, None)[:3]
            if _is_fast(rows, weight, bias):
                return torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")
        return func(*args, **(kwargs or {}))


def has_onednn() -> bool:
    """Return whether this CPU and this build of torch multiply by oneDNN, and the user has not switched it off."""
    return (
        platform.machine() in ("x86_64", "AMD64")
        and torch.backends.mkldnn.is_available()
        and bool(torch._C._get_mkldnn_enabled())
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )


def _is_fast(rows: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    tensors = [tensor for tensor in (rows, weight, bias) if tensor is not None]
    return (
        all(type(tensor) in PRECISE and tensor.dtype == torch.float32 for tensor in tensors)
        and all(tensor.device.type == "cpu" and tensor.layout == torch.strided for tensor in tensors)
        and weight.ndim == 2
        and rows.ndim > 1
        and min(rows.numel(), weight.numel()) > 0
        and not torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
    )
