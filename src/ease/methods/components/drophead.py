"""What drops out of an encoder in training: single values (dropout) and whole attention heads (DropHead)."""

from __future__ import annotations

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from ease.errors import EaseError

MERGES = {
    "albert": "attention.dense",
    "bert": "attention.output.dense",
    "camembert": "attention.output.dense",
    "deberta-v2": "attention.output.dense",
    "distilbert": "attention.out_lin",
    "electra": "attention.output.dense",
    "ernie": "attention.output.dense",
    "modernbert": "attn.Wo",
    "mpnet": "attention.attn.o",
    "roberta": "attention.output.dense",
    "xlm-roberta": "attention.output.dense",
    "xlm-roberta-xl": "attention.output.dense",
}
"""By architecture, where self-attention keeps the linear layer whose input is all heads, one after the other."""


def set_dropout(encoder: SentenceTransformer, rate: float) -> None:
    """Set the rate of every dropout layer of an encoder, attention's included; its saved configuration stays.

    Raises:
        EaseError: If it has none, and the rate is not 0.
    """
    found = 0
    for module in encoder.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate
            found += 1
        elif isinstance(getattr(module, "attention_dropout", None), float):  # a rate without a layer
            module.attention_dropout = rate  # type: ignore[assignment]
            found += 1
    if rate and not found:
        raise EaseError(
            f"`dropout` is {rate}, and the encoder, which begins with {type(encoder[0]).__name__}, has no dropout "
            "layer: set `dropout: null`, or choose a transformer."
        )


def set_drophead(encoder: SentenceTransformer, rate: float) -> list[RemovableHandle]:
    """Let an encoder drop attention heads in training (Zhou et al. 2020), anew for each sequence and layer.

    Call it once: what a second call drops is dropped as well. What is saved of the encoder does not change.

    Args:
        encoder: Changed in place.
        rate: The probability with which a head is dropped.

    Returns:
        What removes it again.

    Raises:
        EaseError: If the encoder's architecture is not in `MERGES`.
    """
    first = encoder[0]
    name = first.model.config.model_type if isinstance(first, Transformer) else type(first).__name__
    if not isinstance(first, Transformer) or name not in MERGES:
        raise EaseError(
            f"DropHead does not know where the architecture {name!r} merges its attention heads: set `drophead: 0`, "
            f"or choose an encoder of one of {', '.join(MERGES)}."
        )
    place = f".{MERGES[name]}"
    merges = [module for path, module in first.model.named_modules() if path.endswith(place)]
    hook = _DropHead(int(first.model.config.num_attention_heads), rate)
    return [module.register_forward_pre_hook(hook) for module in merges]


def drop_heads(states: Tensor, heads: int, rate: float) -> Tensor:
    """Zero whole heads of each sequence, and scale the others up by heads / heads kept.

    Draws from torch's generator of the states' device. Where all heads of a sequence fall, nothing is left of it but
    what the residual connection carries.

    Args:
        states: (n, width, heads * size), the output of attention, one head after the other.
        heads: Their number.
        rate: With which each head of a sequence is dropped.
    """
    kept = torch.rand(len(states), heads, device=states.device) >= rate  # (n, heads)
    scales = kept * heads / kept.sum(1, keepdim=True).clamp(min=1)
    return (states.unflatten(-1, (heads, -1)) * scales.to(states.dtype)[:, None, :, None]).flatten(-2)


class _DropHead:
    """The hook before the layer that merges the heads."""

    def __init__(self, heads: int, rate: float) -> None:
        self._heads = heads
        self._rate = rate

    def __call__(self, module: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor] | None:
        return (drop_heads(inputs[0], self._heads, self._rate),) if module.training else None
