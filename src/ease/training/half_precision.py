"""A transformer's passes in half precision on a CPU.

Under autocast, each layer casts its inputs, and residuals and norms are in single precision. Here, the weights of
layers are cast once a step, and residuals and norms are in half precision. Weights, their gradients and the optimizer
stay in single precision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn
from torch.func import functional_call

from ease.encoders.attention import use_cpu_attention
from ease.encoders.dropout import FastDropout
from ease.training.token_tables import TokenTable

Features = dict[str, Any]


class HalfTransformer:
    """Computes an encoder's transformer in autocast's precision inside autocast, and as it is elsewhere."""

    def __init__(self, encoder: SentenceTransformer) -> None:
        """Take an encoder's first module, with token tables; its dropout and attention become faster."""
        self._transformer = encoder[0]
        for module in self._transformer.modules():
            if type(module) is nn.Dropout:
                module.__class__ = FastDropout
        self._tables = [module for module in self._transformer.modules() if isinstance(module, TokenTable)]
        use_cpu_attention(encoder)
        in_tables = {id(table.weight) for table in self._tables}
        self._weights = {
            name: weight for name, weight in self._transformer.named_parameters() if id(weight) not in in_tables
        }
        self._cast_weights: dict[str, Tensor] = {}

    def cast(self) -> None:
        """Cast the weights for the passes of a step."""
        if torch.is_autocast_enabled("cpu"):
            cast: Sequence[Tensor] = CastWeights.apply(torch.get_autocast_dtype("cpu"), *self._weights.values())
            self._cast_weights = dict(zip(self._weights, cast, strict=True))

    def __call__(self, features: Features) -> Features:
        """Compute the embeddings of tokens, in single precision."""
        if not torch.is_autocast_enabled("cpu"):
            return self._transformer(features)
        with torch.autocast("cpu", enabled=False), self._tables_in(torch.get_autocast_dtype("cpu")):
            computed: Features = functional_call(self._transformer, self._cast_weights, (features,))
        computed["token_embeddings"] = computed["token_embeddings"].float()
        if "all_layer_embeddings" in computed:
            computed["all_layer_embeddings"] = [layer.float() for layer in computed["all_layer_embeddings"]]
        return computed

    @contextmanager
    def _tables_in(self, precision: torch.dtype) -> Iterator[None]:
        """Make tables return rows in a precision in this block."""
        for table in self._tables:
            table.precision = precision
        try:
            yield
        finally:
            for table in self._tables:
                table.precision = None


class CastWeights(torch.autograd.Function):
    """Copies of weights in half precision by a few kernels for all, and their gradients in single precision."""

    @staticmethod
    def forward(ctx: Any, half: torch.dtype, *weights: Tensor) -> Any:
        """Copy weights."""
        ctx.set_materialize_grads(False)
        return _copied(weights, half)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        """Copy gradients, of which some may be missing."""
        # A weight that the outputs do not depend on, such as a pooler's, has no gradient.
        singles: list[Tensor | None] = list(gradients)
        places = [place for place, gradient in enumerate(gradients) if gradient is not None]
        copies = _copied([gradient for gradient in gradients if gradient is not None], torch.float32)
        for place, copy in zip(places, copies, strict=True):
            singles[place] = copy
        return (None, *singles)


def _copied(tensors: Sequence[Tensor], kind: torch.dtype) -> tuple[Tensor, ...]:
    copies = [torch.empty_like(tensor, dtype=kind) for tensor in tensors]
    torch._foreach_copy_(copies, list(tensors))
    return tuple(copies)
