"""Linear layers by oneDNN: values and gradients of torch's layers, the cases it leaves to torch, the saved encoder."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ease.encoders.onednn import OneDnnLinear, PackedLinear, has_onednn, onednn_products, pack_weights, use_onednn


@pytest.mark.parametrize(("shape", "outputs", "bias"), [((7,), 3, True), ((3, 4, 7), 20, False)])
def test_values_and_gradients_are_those_of_double_precision(shape: tuple[int, ...], outputs: int, bias: bool) -> None:
    torch.manual_seed(0)
    layer = nn.Sequential(nn.Linear(7, outputs, bias=bias))
    use_onednn(layer)
    assert isinstance(layer[0], OneDnnLinear)
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


@pytest.mark.skipif(not has_onednn(), reason="torch has no oneDNN here")
@torch.inference_mode()
def test_a_block_uses_onednn_for_plain_layers_alone() -> None:
    encoder = nn.Sequential(nn.Linear(16, 24), nn.modules.linear.NonDynamicallyQuantizableLinear(24, 3))
    rows = torch.randn(3, 5, 16)
    expected = encoder(rows)
    with torch.profiler.profile() as profile, onednn_products(encoder):
        assert [type(layer) is OneDnnLinear for layer in encoder] == [True, False]
        found = encoder(rows)
    assert any("mkldnn" in event.key for event in profile.key_averages())
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert type(encoder[0]) is nn.Linear


def test_packed_weights_give_torchs_values_and_leave_training_to_torch() -> None:
    layers = nn.Sequential(nn.Linear(24, 16), nn.Linear(16, 7, bias=False)).bfloat16()
    rows = torch.randn(3, 5, 24).bfloat16()
    expected = layers(rows)
    pack_weights(layers, 32)
    packed = has_onednn() and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    assert all(type(layer) is (PackedLinear if packed else nn.Linear) for layer in layers)
    with torch.inference_mode():
        torch.testing.assert_close(layers(rows), expected)
        assert layers(rows[:0]).shape == (0, 5, 7)
    layers(rows).float().sum().backward()
    assert all(layer.weight.grad is not None for layer in layers)
