"""Poolings: the modules between a transformer and its sentence embeddings. Does not import torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator

from ease.names import check_name

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Transformer
    from torch import nn

POOLINGS = {
    "cls": "cls",
    "cls_mlp": "cls",
    "cls_mlp_train": "cls",
    "first_last_mean": "mean",
    "last_token": "lasttoken",
    "mean": "mean",
}
"""Poolings, and sentence-transformers' mode of each.

`cls_mlp` is followed by a linear layer and tanh, which the saved encoder keeps; those of `cls_mlp_train` are dropped
after training, as in SimCSE. `first_last_mean` averages the token means of the first and the last layer. `last_token`
is for decoders, whose last token alone attends to all others.
"""


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the random numbers within the block, and restore the random state afterwards."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


def pooling_modules(pooling: str, transformer: Transformer, seed: int) -> list[nn.Module]:
    """Return the modules of a pooling after a transformer; the seed determines their weights."""
    import torch
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, WeightedLayerPooling

    dimension = transformer.get_embedding_dimension()
    modules: list[nn.Module] = [Pooling(dimension, POOLINGS[check_pooling(pooling)])]
    # Only this pooling reads the states of all layers, which take memory.
    transformer.model.config.output_hidden_states = pooling == "first_last_mean"
    if pooling == "first_last_mean":
        weights = torch.zeros(int(transformer.config.num_hidden_layers))
        weights[0] += 1.0
        weights[-1] += 1.0
        fixed = torch.nn.Parameter(weights, requires_grad=False)
        # Layer 0 is the embedding of the tokens, before the first layer.
        modules.insert(0, WeightedLayerPooling(dimension, len(weights), layer_start=1, layer_weights=fixed))
    if pooling == "cls_mlp":
        with seeded(seed):
            modules.append(Dense(dimension, dimension, activation_function=torch.nn.Tanh()))
    return modules


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
