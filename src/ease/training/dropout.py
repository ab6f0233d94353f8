"""Dropout on a CPU, where drawing its masks one number at a time takes a tenth of a small encoder's training."""

from __future__ import annotations

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

LEVELS = 1 << 16
"""A rate is rounded to a multiple of 1 over this."""
LEAST = torch.iinfo(torch.int16).min


class QuickDropout(nn.Dropout):
    """Dropout that draws on a CPU four values' fates from one 64-bit number; elsewhere it is torch's own."""

    def forward(self, values: Tensor) -> Tensor:
        """Zero values at the rate and scale the others up, in training."""
        if values.device.type != "cpu":
            return super().forward(values)
        return drop_quickly(values, self.p) if self.training else values


def drop_quickly(values: Tensor, rate: float) -> Tensor:
    """Zero values at a rate, to 1 in 65,536, and divide the others by the share of values kept."""
    dropped = round(rate * LEVELS)
    if not dropped:
        return values
    if dropped == LEVELS:
        return values * 0
    numbers = torch.empty(-(-values.numel() // 4), dtype=torch.int64, device=values.device)
    numbers.random_(torch.iinfo(torch.int64).min, None)  # every bit at random, from torch's generator
    bits = numbers.view(torch.int16)[: values.numel()].view(values.shape)
    scales = torch.empty_like(values, memory_format=torch.contiguous_format, requires_grad=False)
    torch.ge(bits, LEAST + dropped, out=scales)
    return values * scales.mul_(LEVELS / (LEVELS - dropped))


def quicken_dropout(encoder: SentenceTransformer) -> None:
    """Replace an encoder's dropout layers, in place; what is saved of it does not change."""
    for module in list(encoder.modules()):
        for name, child in module.named_children():
            if type(child) is nn.Dropout:
                setattr(module, name, QuickDropout(child.p))
