"""Poolings: the modules between a transformer and its sentence embeddings. Does not import torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator

from ease.io.names import check_name

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Transformer
    from torch import nn


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the random numbers within the block, and restore the random state afterwards."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


def _pool(mode: str) -> Callable[[Transformer, int], list[nn.Module]]:
    """Return a pooling of sentence-transformers."""

    def modules(transformer: Transformer, seed: int) -> list[nn.Module]:
        from sentence_transformers.sentence_transformer.modules import Pooling

        return [Pooling(transformer.get_embedding_dimension(), mode)]

    return modules


def _cls_mlp(transformer: Transformer, seed: int) -> list[nn.Module]:
    """[CLS] followed by a linear layer and tanh, which the saved encoder keeps."""
    from sentence_transformers.sentence_transformer.modules import Dense
    from torch import nn

    dimension = transformer.get_embedding_dimension()
    with seeded(seed):
        mlp = Dense(dimension, dimension, activation_function=nn.Tanh())
    return [*_pool("cls")(transformer, seed), mlp]


def _first_last_mean(transformer: Transformer, seed: int) -> list[nn.Module]:
    """Mean of the token means of the first and the last layer."""
    import torch
    from sentence_transformers.sentence_transformer.modules import WeightedLayerPooling

    dimension, layers = transformer.get_embedding_dimension(), int(transformer.config.num_hidden_layers)
    transformer.model.config.output_hidden_states = True
    weights = torch.zeros(layers)
    weights[0] += 1.0
    weights[-1] += 1.0
    fixed = torch.nn.Parameter(weights, requires_grad=False)
    # Layer 0 is the embedding of the tokens, before the first layer.
    both = WeightedLayerPooling(dimension, layers, layer_start=1, layer_weights=fixed)
    return [both, *_pool("mean")(transformer, seed)]


POOLINGS: dict[str, Callable[[Any, int], list[nn.Module]]] = {
    "cls": _pool("cls"),
    "cls_mlp": _cls_mlp,
    "cls_mlp_train": _pool("cls"),
    "first_last_mean": _first_last_mean,
    "last_token": _pool("lasttoken"),
    "mean": _pool("mean"),
}
"""Functions of a transformer and a seed, which determines their weights, to the modules after the transformer.

`cls_mlp_train` has a linear layer and tanh during training, which are dropped afterwards, as in SimCSE. `last_token` is
for decoders, whose last token alone attends to all others.
"""


def training_head(encoder: SentenceTransformer, pooling: str | None, seed: int) -> nn.Module:
    """Return the pooling's layers between encoder and losses; the identity if there are none."""
    from torch import nn

    if pooling != "cls_mlp_train":
        return nn.Identity()
    dimension = int(encoder.get_embedding_dimension() or 0)
    with seeded(seed):
        return nn.Sequential(nn.Linear(dimension, dimension), nn.Tanh())


def check_pooling(name: str) -> str:
    """Return the name of a pooling."""
    check_name(name, sorted(POOLINGS), "pooling")
    return name


PoolingName = Annotated[str, AfterValidator(check_pooling)]
"""The name of a pooling, as an option."""
