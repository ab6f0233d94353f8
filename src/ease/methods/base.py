"""What a training method is: a module that turns the encoder's outputs into named loss terms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

from ease.methods.components.distributed import gather_with_gradient, process_rank
from ease.methods.components.entity_table import EntityTable
from ease.methods.components.losses import info_nce

TOTAL = "loss"
"""The key of the term that is minimised."""

SENTENCE = "sentence"
"""The column of texts that every table of training texts has."""


class Entities(NamedTuple):
    """The entities of a batch of n pairs, as rows of the entity table."""

    positives: Tensor
    """(n,)"""
    hard_negatives: Tensor
    """(n,), -1 where a pair has none"""


class Texts(NamedTuple):
    """One column of texts of a batch, as tokens padded to the longest."""

    tokens: Tensor
    """(n, width)"""
    mask: Tensor
    """(n, width), 1 for tokens and 0 for padding"""


class Inputs(NamedTuple):
    """What a method is given of a batch of n rows."""

    sentences: Tensor
    """(views, n, dimension), the embeddings of each view"""
    present: Tensor
    """(views, n), false where a row lacks the text of a view; its embedding then means nothing"""
    entities: Entities | None = None
    """Given if the method has an entity table"""
    texts: Mapping[str, Texts] = {}
    """The columns that the method reads token by token"""
    autocast: torch.dtype | None = None
    """Half precision in which a method runs transformers of its own accord, if any"""
    mini_batch_size: int | None = None
    """Rows whose similarities, and whose activations in the encoder, are held at a time; null: all"""


Derive = Callable[[Sequence[str], NDArray[np.int64]], Sequence[str | None]]
"""Makes a column of texts from the sentences and the numbers of their rows; null where a row is to have none."""


class TrainingMethod(nn.Module, ABC):
    """A method's trained parts beside the encoder, and its loss.

    A file of this package holds one subclass; its file name is the method's name everywhere.
    """

    Options: ClassVar[type[BaseModel]]
    """The method's parameters, a frozen Pydantic model."""

    title: ClassVar[str]
    """The method's name in tables and plots."""

    summary: ClassVar[str]
    """What the method does, in a sentence for model cards."""

    negatives_summary: ClassVar[str] = ""
    """What the method does with hard negatives, in a sentence that follows where the training has any."""

    reads_entities: ClassVar[bool] = False
    """Whether the method is trained on the setting's pairs and given their entities; otherwise on gathered texts."""

    views: tuple[str, ...]
    """The column of texts that each view encodes; a column named twice is encoded twice, with other dropout masks."""

    required: tuple[str, ...] = (SENTENCE,)
    """Columns of which every row must have a text."""

    token_columns: tuple[str, ...] = ()
    """Columns of which the method is also given the tokens."""

    def __init_subclass__(cls, **given: Any) -> None:
        """Refuse a method that lacks what is asked for only after a training."""
        super().__init_subclass__(**given)
        lacking = [name for name in ("Options", "title", "summary") if not hasattr(cls, name)]
        if lacking:
            raise TypeError(f"The method {cls.__name__} lacks {', '.join(lacking)}: see TrainingMethod.")
        if cls.reads_entities and "reads_entities" not in vars(cls):
            raise TypeError(
                f"The method {cls.__name__} inherits `reads_entities`: set it in the class itself."
            )

    def __init__(self) -> None:
        """Start without an entity table."""
        super().__init__()
        self.table: EntityTable | None = None

    @classmethod
    @abstractmethod
    def build(
        cls, options: BaseModel, encoder: SentenceTransformer, embeddings: Tensor | None
    ) -> TrainingMethod:
        """Make the module for an encoder.

        Args:
            options: An instance of `Options`.
            encoder: The one that is trained; a method may change how it drops out.
            embeddings: (entities, entity dimension), where the table starts; given if `reads_entities`.

        Raises:
            EaseError: If the encoder lacks what the method needs.
        """

    def derived_columns(self, encoder: SentenceTransformer, seed: int) -> Mapping[str, Derive]:
        """Return how columns or single texts that the data lack are made from the sentences; none by default."""
        return {}

    @abstractmethod
    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Compute the loss terms of a batch.

        Returns:
            Scalars by name, the minimised one as `TOTAL`.
        """


def self_supervised_term(
    sentences: Tensor, temperature: float, gathered: bool, mini_batch_size: int | None = None
) -> Tensor:
    """Compute equation 3 over a batch, or over those of all processes.

    Args:
        sentences: (2, n, dimension), two views.
        temperature: τ.
        gathered: Take the second views of all processes as candidates.
        mini_batch_size: Sentences whose similarities are held at a time; by default all.
    """
    first, second = sentences[0], sentences[1]
    own = own_rows(len(first), first.device, gathered)
    candidates = gather_with_gradient(second) if gathered else second
    return info_nce(first, candidates, temperature, own=own, mini_batch_size=mini_batch_size)


def own_rows(count: int, device: torch.device, gathered: bool) -> Tensor:
    """Rows of this process's pairs among the candidates: all, or its share of the gathered ones."""
    start = process_rank() * count if gathered else 0
    return torch.arange(start, start + count, device=device)
