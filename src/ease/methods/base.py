"""What a training method is: a module that turns the encoder's outputs into named loss terms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import torch
from pydantic import BaseModel
from torch import Tensor, nn

from ease.distributed import gather_with_gradient, process_rank
from ease.entity_table import EntityTable
from ease.losses import self_supervised_loss

TOTAL = "loss"
"""The key of the term that is minimised."""


class Entities(NamedTuple):
    """The entities of a batch of n pairs, as rows of the entity table."""

    positives: Tensor
    """(n,)"""
    hard_negatives: Tensor
    """(n,), -1 where a pair has none"""


class TrainingMethod(nn.Module, ABC):
    """A method's trained parts beside the encoder, and its loss.

    A file of this package holds one subclass; its file name is the method's name everywhere.
    """

    Options: ClassVar[type[BaseModel]]
    """The method's parameters, a frozen Pydantic model."""

    summary: ClassVar[str]
    """What the method does, in a sentence for model cards."""

    views: int
    """How often a sentence is encoded, each time with its own dropout."""

    def __init__(self) -> None:
        """Start without an entity table."""
        super().__init__()
        self.table: EntityTable | None = None

    @classmethod
    @abstractmethod
    def needs_entities(cls, options: BaseModel) -> bool:
        """Tell whether the method with these options reads the entities of the pairs."""

    @classmethod
    @abstractmethod
    def build(cls, options: BaseModel, dimension: int, embeddings: Tensor | None) -> TrainingMethod:
        """Make the module for sentence embeddings of a dimension.

        Args:
            options: An instance of `Options`.
            dimension: Of the sentence embeddings.
            embeddings: (entities, entity dimension), where the table starts; given if `needs_entities`.
        """

    @abstractmethod
    def forward(self, sentences: Tensor, entities: Entities | None) -> dict[str, Tensor]:
        """Compute the loss terms of a batch.

        Args:
            sentences: (views, n, dimension).
            entities: Of the batch; given if `needs_entities`.

        Returns:
            Scalars by name, the minimised one as `TOTAL`.
        """


def self_supervised_term(sentences: Tensor, temperature: float, gathered: bool) -> Tensor:
    """Compute equation 3 over a batch, or over those of all processes.

    Args:
        sentences: (2, n, dimension), two views.
        temperature: τ.
        gathered: Take the second views of all processes as candidates.
    """
    first, second = sentences[0], sentences[1]
    own = own_rows(len(first), first.device, gathered)
    return self_supervised_loss(first, gather_with_gradient(second) if gathered else second, temperature, own)


def own_rows(count: int, device: torch.device, gathered: bool) -> Tensor:
    """Rows of this process's pairs among the candidates: all, or its share of the gathered ones."""
    start = process_rank() * count if gathered else 0
    return torch.arange(start, start + count, device=device)
