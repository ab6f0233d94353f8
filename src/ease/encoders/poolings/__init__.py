"""Poolings, one file each; the file's name is the pooling's name. This module does not import torch.

A module holds `modules`, as `Pooling` describes it. `training_head`, if it has one, makes layers between the encoder
and the losses that are not saved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Protocol, cast

from pydantic import AfterValidator

from ease.io.registry import check_name, module_names, named_module

if TYPE_CHECKING:
    from sentence_transformers.sentence_transformer.modules import Transformer
    from torch import nn


class Pooling(Protocol):
    """What the module of a pooling holds."""

    def modules(self, transformer: Transformer, seed: int) -> list[nn.Module]:
        """Return the modules that follow the transformer in a `SentenceTransformer`; `seed` decides their weights."""


def pooling_names() -> list[str]:
    """Names of all poolings, sorted."""
    return module_names(__path__)


def get_pooling(name: str) -> Pooling:
    """Import a pooling by its name."""
    return cast(Pooling, named_module(__name__, name, pooling_names(), "pooling"))


def _check(name: str) -> str:
    check_name(name, pooling_names(), "pooling")
    return name


PoolingName = Annotated[str, AfterValidator(_check)]
"""The name of a pooling, as an option."""
