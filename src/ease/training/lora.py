"""LoRA (Hu et al. 2021): low-rank adapters of a transformer's linear layers are trained instead of its weights."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import nn

from ease.errors import EaseError
from ease.training.options import LoraOptions

UNUSED = ("pooler",)
"""Parts of a transformer that its embeddings of tokens do not depend on."""
ADAPTER = "default"
"""Name of the adapter in peft"""


def add_lora(encoder: SentenceTransformer, options: LoraOptions) -> None:
    """Freeze an encoder's transformer and add adapters to its linear layers, in place.

    Layers behind the transformer, such as a Dense layer, are trained as without LoRA. The adapters are drawn from
    torch's random state and do not change the embeddings before the first step.

    Raises:
        EaseError: If the encoder does not begin with a transformer, or has no linear layers named as `targets`.
    """
    from peft import LoraConfig, inject_adapter_in_model

    transformer = encoder[0]
    if not isinstance(transformer, Transformer):
        raise EaseError(
            f"`lora` adapts transformers, and the encoder begins with {type(transformer).__name__}: set `lora: null`."
        )
    paths = [
        path
        for path, layer in transformer.model.named_modules()
        if isinstance(layer, nn.Linear) and not set(path.split(".")) & set(UNUSED)
    ]
    names = sorted({path.rpartition(".")[2] for path in paths})
    if not names:
        raise EaseError(
            "`lora` adapts linear layers, and the encoder's transformer has none: set `lora: null`."
        )
    if missing := sorted(set(options.targets or ()) - set(names)):
        raise EaseError(
            f"`lora.targets`: the encoder has no linear layers named {', '.join(missing)}; it has {', '.join(names)}. "
            "Choose among them, or omit `targets` for all."
        )
    layers = [path for path in paths if path.rpartition(".")[2] in (options.targets or names)]
    config = LoraConfig(
        r=options.rank, lora_alpha=options.alpha, lora_dropout=options.dropout, target_modules=layers
    )
    inject_adapter_in_model(config, transformer.model, ADAPTER)


@contextmanager
def merged(encoder: SentenceTransformer) -> Iterator[None]:
    """Replace adapted layers by plain ones with the same function inside; the adapters are then restored unchanged."""
    adapted = [
        (parent, name, child)
        for parent in list(encoder.modules())
        for name, child in parent.named_children()
        if hasattr(child, "get_delta_weight")  # of peft, which only `add_lora` imports
    ]
    for parent, name, child in adapted:
        setattr(parent, name, _plain(child))
    try:
        yield
    finally:
        for parent, name, child in adapted:
            setattr(parent, name, child)


def _plain(adapted: Any) -> nn.Linear:
    """Return a linear layer with the sum of the weights and of the adapter's."""
    plain: nn.Linear = copy.copy(adapted.get_base_layer())
    plain._parameters = dict(plain._parameters)
    weight = plain.weight.detach() + adapted.get_delta_weight(ADAPTER).detach()
    plain.weight = nn.Parameter(weight, requires_grad=False)
    return plain
