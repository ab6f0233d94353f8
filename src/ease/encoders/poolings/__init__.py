"""Poolings, one file each; the file's name is the pooling's name. This module does not import torch.

A module defines the function `modules` (see `Pooling`), and optionally `training_head`, which returns layers between
the encoder and the losses that are not saved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Protocol, cast

from pydantic import AfterValidator

from ease.io.registry import check_name, module_names, named_module

if TYPE_CHECKING:
    from sentence_transformers.sentence_transformer.modules import Transformer
    from torch import nn


class Pooling(Protocol):
    """Interface of a pooling's module."""

    def modules(self, transformer: Transformer, seed: int) -> list[nn.Module]:
        """Return the modules after the transformer in a `SentenceTransformer`; `seed` determines their weights."""


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
