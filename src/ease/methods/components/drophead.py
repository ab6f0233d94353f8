"""Dropout of an encoder's values and of its attention heads (DropHead)."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor, nn

from ease.errors import EaseError

_LIKE_BERT = "bert camembert deberta-v2 electra ernie roberta xlm-roberta xlm-roberta-xl".split()
MERGES = {
    "albert": "attention.dense",
    **dict.fromkeys(_LIKE_BERT, "attention.output.dense"),
    "distilbert": "attention.out_lin",
    **dict.fromkeys(("gemma3_text", "nomic_bert", "qwen3"), "self_attn.o_proj"),
    "modernbert": "attn.Wo",
    "mpnet": "attention.attn.o",
}
"""The linear layer behind self-attention, whose input is the concatenation of all heads, by architecture."""


def _dropouts(encoder: SentenceTransformer) -> Iterator[tuple[nn.Module, str]]:
    """Yield what has a dropout rate, and the name of that attribute; some attentions have a rate without a layer."""
    for module in encoder.modules():
        if isinstance(module, nn.Dropout):
            yield module, "p"
        elif isinstance(getattr(module, "attention_dropout", None), float):
            yield module, "attention_dropout"


def set_dropout(encoder: SentenceTransformer, rate: float, option: str = "dropout") -> None:
    """Set the rate of all dropout layers of an encoder, attention included; the saved configuration does not change.

    `option` is the name of the parameter, for the error if the encoder has no dropout layer.
    """
    dropouts = list(_dropouts(encoder))
    for module, name in dropouts:
        setattr(module, name, rate)
    # Without dropout, both views of a sentence are equal: training would learn nothing from them.
    if rate and not dropouts:
        raise EaseError(
            f"`{option}` is {rate}, and the encoder, which begins with {type(encoder[0]).__name__}, has no dropout "
            f"layer: set `{option}: null`, or choose a transformer."
        )


def has_dropout(encoder: SentenceTransformer) -> bool:
    """Return whether any layer of an encoder has a dropout above 0."""
    return any(getattr(module, name) > 0 for module, name in _dropouts(encoder))


def set_drophead(encoder: SentenceTransformer, rate: float) -> None:
    """Drop attention heads in training (Zhou et al. 2020), independently for each sequence and layer, in place.

    The saved encoder does not change.
    """
    first = encoder[0]
    name = type(first).__name__
    if isinstance(first, Transformer):
        name = first.model.config.model_type
    if not isinstance(first, Transformer) or name not in MERGES:
        raise EaseError(
            f"DropHead does not support the architecture {name!r}: set `drophead: 0`, "
            f"or choose an encoder of one of {', '.join(sorted(MERGES))}."
        )
    heads = int(first.model.config.num_attention_heads)

    def drop(module: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor] | None:
        if not module.training:
            return None
        return (drop_heads(inputs[0], heads, rate),)

    # A hook before the layer that merges the heads sees them unmixed, whatever attention kernel computed them.
    for path, module in first.model.named_modules():
        if path.endswith(f".{MERGES[name]}"):
            module.register_forward_pre_hook(drop)


def drop_heads(states: Tensor, heads: int, rate: float) -> Tensor:
    """Zero heads of each sequence with a probability, and scale the others by heads / heads kept.

    `states` are the concatenated heads, (n, width, heads * size). If all heads of a sequence are dropped, only the
    residual connection is left.
    """
    survives = torch.rand(len(states), heads, device=states.device) >= rate  # (n, heads)
    # The sum over the heads keeps its expected size (Zhou et al. 2020); 1 avoids 0 / 0 if no head survives.
    scales = survives * heads / survives.sum(1, keepdim=True).clamp(min=1)
    return (states.unflatten(-1, (heads, -1)) * scales.to(states.dtype)[:, None, :, None]).flatten(-2)
