"""Dropout of an encoder's values and of its attention heads (DropHead)."""

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
    "gemma3_text": "self_attn.o_proj",
    "modernbert": "attn.Wo",
    "mpnet": "attention.attn.o",
    "nomic_bert": "self_attn.o_proj",
    "qwen3": "self_attn.o_proj",
    "roberta": "attention.output.dense",
    "xlm-roberta": "attention.output.dense",
    "xlm-roberta-xl": "attention.output.dense",
}
"""The linear layer behind self-attention, whose input is the concatenation of all heads, by architecture."""


def set_dropout(encoder: SentenceTransformer, rate: float, option: str = "dropout") -> None:
    """Set the rate of all dropout layers of an encoder, attention included; the saved configuration does not change.

    Args:
        encoder: Changed in place.
        rate: The new rate.
        option: Name of the parameter, for the message.

    Raises:
        EaseError: If the rate is not 0 and the encoder has no dropout layer.
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
            f"`{option}` is {rate}, and the encoder, which begins with {type(encoder[0]).__name__}, has no dropout "
            f"layer: set `{option}: null`, or choose a transformer."
        )


def has_dropout(encoder: SentenceTransformer) -> bool:
    """Return whether any layer of an encoder has a dropout above 0."""
    rates = (
        module.p if isinstance(module, nn.Dropout) else getattr(module, "attention_dropout", None)
        for module in encoder.modules()
    )
    return any(isinstance(rate, float) and rate > 0 for rate in rates)


def set_drophead(encoder: SentenceTransformer, rate: float) -> list[RemovableHandle]:
    """Drop attention heads in training (Zhou et al. 2020), independently for each sequence and layer.

    Changes the encoder in place; a second call adds a second DropHead. The saved encoder does not change.

    Returns:
        Handles that remove the hooks.

    Raises:
        EaseError: If the encoder's architecture is not in `MERGES`.
    """
    first = encoder[0]
    name = first.model.config.model_type if isinstance(first, Transformer) else type(first).__name__
    if not isinstance(first, Transformer) or name not in MERGES:
        raise EaseError(
            f"DropHead does not support the architecture {name!r}: set `drophead: 0`, "
            f"or choose an encoder of one of {', '.join(MERGES)}."
        )
    place = f".{MERGES[name]}"
    merges = [module for path, module in first.model.named_modules() if path.endswith(place)]
    heads = int(first.model.config.num_attention_heads)

    def drop(module: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor] | None:
        return (drop_heads(inputs[0], heads, rate),) if module.training else None

    return [module.register_forward_pre_hook(drop) for module in merges]


def drop_heads(states: Tensor, heads: int, rate: float) -> Tensor:
    """Zero heads of each sequence, and scale the others by heads / heads kept.

    If all heads of a sequence are dropped, only the residual connection is left.

    Args:
        states: (n, width, heads * size), the concatenated heads.
        heads: Number of heads.
        rate: Probability of dropping a head of a sequence.
    """
    kept = torch.rand(len(states), heads, device=states.device) >= rate  # (n, heads)
    scales = kept * heads / kept.sum(1, keepdim=True).clamp(min=1)
    return (states.unflatten(-1, (heads, -1)) * scales.to(states.dtype)[:, None, :, None]).flatten(-2)
