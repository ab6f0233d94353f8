"""Linear layers by oneDNN: values and gradients of torch's layers, the cases it leaves to torch, the saved encoder."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from ease.encoders.onednn import OneDnnLinear, OneDnnProducts, has_onednn, use_onednn


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


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values.double(),
        lambda values: values[:0],
    ],
    ids=["double", "empty"],
)
def test_other_types_and_empty_tensors_are_left_to_torch(change: Callable[[Tensor], Tensor]) -> None:
    linear = nn.Linear(4, 3).to(change(torch.empty(1)).dtype)
    given = change(torch.randn(2, 4))
    expected = linear(given)
    assert torch.equal(with_onednn(linear)(given), expected)


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


needed = pytest.mark.skipif(not has_onednn(), reason="torch has no oneDNN here")
linear = torch.nn.functional.linear


def used(rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> bool:
    """Return whether oneDNN computes this layer, whose result must equal torch's."""
    with torch.profiler.profile() as profile, OneDnnProducts():
        found = linear(rows, weight, bias)
    torch.testing.assert_close(found, linear(rows, weight, bias), rtol=1e-5, atol=1e-5)
    return any("mkldnn" in event.key for event in profile.key_averages())


@needed
@torch.inference_mode()
def test_products_equal_torchs() -> None:
    rows, weight, bias = torch.randn(3, 5, 16), torch.randn(24, 16), torch.randn(24)
    assert used(rows, weight, bias)
    assert used(rows, weight)
    assert used(rows.transpose(0, 1), weight, bias)
    assert used(rows, torch.randn(16, 24).t(), bias)
    assert used(torch.randn(5, 32)[:, ::2], weight[::2], bias[::2])
    assert used(rows, torch.nn.Parameter(weight), bias)


@needed
@torch.inference_mode()
def test_other_layers_are_left_to_torch() -> None:
    rows, weight = torch.randn(3, 16), torch.randn(24, 16)
    assert not used(rows.double(), weight.double())
    assert not used(rows.bfloat16(), weight.bfloat16())
    assert not used(torch.empty(0, 16), weight)
    assert not used(rows[0], weight)
