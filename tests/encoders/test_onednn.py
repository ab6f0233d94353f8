"""Linear layers by oneDNN: values and gradients of torch's layers, the cases it leaves to torch, the saved encoder."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from ease.encoders.onednn import OneDnnLinear, use_onednn


def with_onednn(linear: nn.Linear) -> nn.Linear:
    """Return the layer that replaces a linear layer."""
    parent = nn.Sequential(linear)
    use_onednn(parent)
    found = parent[0]
    assert isinstance(found, OneDnnLinear)
    return found


@pytest.mark.parametrize("shape", [(7,), (5, 7), (3, 4, 7)])
@pytest.mark.parametrize("outputs", [3, 20])
@pytest.mark.parametrize("bias", [True, False])
def test_values_and_gradients_are_those_of_double_precision(
    shape: tuple[int, ...], outputs: int, bias: bool
) -> None:
    torch.manual_seed(0)
    layer = with_onednn(nn.Linear(7, outputs, bias=bias))
    given = torch.randn(shape, requires_grad=True)
    upstream = torch.randn(*shape[:-1], outputs)
    leaves = [given, *layer.parameters()]
    found = layer(given)
    gradients = torch.autograd.grad(found, leaves, upstream)
    exact = [leaf.detach().double().requires_grad_() for leaf in leaves]
    expected = exact[0] @ exact[1].T + (exact[2] if bias else 0)
    assert torch.allclose(found.double(), expected, atol=1e-5)
    for one, other in zip(gradients, torch.autograd.grad(expected, exact, upstream.double()), strict=True):
        assert torch.allclose(one.double(), other, atol=1e-5)


def test_gradients_are_computed_where_they_are_needed() -> None:
    layer = with_onednn(nn.Linear(4, 4))
    layer.weight.requires_grad_(False)
    given = torch.randn(2, 4, requires_grad=True)
    layer(given).sum().backward()
    assert layer.weight.grad is None
    assert given.grad is not None
    assert layer.bias.grad is not None


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values.double(),
        lambda values: values.bfloat16(),
        lambda values: values[:0],
    ],
    ids=["double", "bf16", "empty"],
)
def test_other_types_and_empty_tensors_are_left_to_torch(change: Callable[[Tensor], Tensor]) -> None:
    linear = nn.Linear(4, 3).to(change(torch.empty(1)).dtype)
    given = change(torch.randn(2, 4))
    expected = linear(given)
    assert torch.equal(with_onednn(linear)(given), expected)


def test_autocast_is_left_to_torch() -> None:
    linear, given = nn.Linear(4, 3), torch.randn(2, 4)
    with torch.autocast("cpu", torch.bfloat16):
        expected = linear(given)
        found = with_onednn(linear)(given)
    assert found.dtype == torch.bfloat16
    assert torch.equal(found, expected)


def test_parameters_and_modes_stay_the_same() -> None:
    linear = nn.Linear(4, 3).eval()
    found = with_onednn(linear)
    assert found.weight is linear.weight
    assert found.bias is linear.bias
    assert not found.training
    assert list(found.state_dict()) == list(linear.state_dict())


def test_subclasses_of_linear_layers_are_left_alone() -> None:
    parent = nn.Sequential(nn.modules.linear.NonDynamicallyQuantizableLinear(2, 2))
    use_onednn(parent)
    assert not isinstance(parent[0], OneDnnLinear)
