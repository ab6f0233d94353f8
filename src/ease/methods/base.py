"""The base class of training methods, and the batch that a method reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, Field, model_validator
from torch import Tensor, nn

from ease.errors import EaseError
from ease.methods.components.distributed import gather_with_gradient, process_rank
from ease.methods.components.entity_table import EntityTable
from ease.methods.components.losses import info_nce
from ease.methods.records import MethodRecord
from ease.options import StrictModel

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

TOTAL = "loss"
"""The key of the loss term that training minimises."""

SENTENCE = "sentence"
"""The text column that every table of training texts has."""

POSITIVE = "positive"
"""The text column of a translation, an entailed sentence, or another text that is similar to the sentence."""

Opts = TypeVar("Opts", bound=BaseModel)


class GuideVectors(NamedTuple):
    """A guide encoder's embeddings of n pairs, each (n, guide dimension); an entity's is that of its sentences."""

    sentences: Tensor
    positives: Tensor
    hard_negatives: Tensor


class Entities(NamedTuple):
    """The entities of a batch of n pairs, as rows of the entity table."""

    positives: Tensor
    """(n,)"""
    hard_negatives: Tensor
    """(n,), -1 if a pair has no hard negative"""
    further: Tensor | None = None
    """(n, k), other entities of each sentence, -1 in unused places; only if the method reads them"""
    subjects: Tensor | None = None
    """(n,), the subject of each sentence's page, -1 if unknown; only if the method reads them"""
    guide: GuideVectors | None = None
    """Only with a guide, which finds false negatives"""
    distinct_rows: NDArray[np.int64] | None = None
    """(u,), sorted: all rows of the table that the method looks up, in any process; None: computed on the device. No
    tensor, since a batch's tensors are moved to the GPU, from which the host would have to read them."""


class Texts(NamedTuple):
    """One text column of a batch as token ids, padded to the longest text."""

    tokens: Tensor
    """(n, width)"""
    mask: Tensor
    """(n, width), 1 for tokens and 0 for padding"""


class Inputs(NamedTuple):
    """A batch of n rows, with the encoder's outputs."""

    sentences: Tensor
    """(views, n, dimension), the embeddings of each view"""
    present: Tensor
    """(views, n), false if a row has no text for a view; that embedding is undefined"""
    entities: Entities | None = None
    """Only if the method has an entity table"""
    texts: Mapping[str, Texts] = {}
    """The method's `token_columns`"""
    autocast: torch.dtype | None = None
    """Half precision for transformers that the method runs itself"""
    mini_batch_size: int | None = None
    """Rows whose logits and activations are in memory at a time; None: all"""


Derive = Callable[[Sequence[str], NDArray[np.int64]], Sequence[str | None]]
"""Makes a text column from the sentences and their row numbers; None for a row without a text."""


class Reads(NamedTuple):
    """What a method reads of the training data and of the encoder; it may depend on the method's options."""

    views: tuple[str, ...] = ()
    """The text column of each view; a column that is named twice is encoded twice, with different dropout masks."""
    required: tuple[str, ...] = (SENTENCE,)
    """Columns in which every row must have a text."""
    token_columns: tuple[str, ...] = ()
    """Columns whose tokens the method reads."""
    token_matrix: bool = False
    """Whether the loss reads the encoder's complete matrix of token embeddings, whose gradient is then dense."""
    entities: bool = False
    """Whether a batch has its pairs' entities."""
    table: bool = False
    """Whether there is an entity table, which starts with the entity embeddings."""
    hard_negatives: bool = False
    """Whether the rows of hard negatives are looked up in the entity table."""
    further_positives: int = 0
    """The number of further entities of each sentence."""
    subjects: bool = False
    """Whether the subject of each sentence's page is read."""


class TrainingMethod(nn.Module, ABC, Generic[Opts]):
    """A training objective: its loss, and the parameters that are trained with the encoder.

    What is known without options is in the method's record (`records.py`).
    """

    Options: ClassVar[type[BaseModel]]
    """The method's parameters, a frozen Pydantic model."""

    def __init__(self, options: Opts) -> None:
        super().__init__()
        self.options = options
        self.table: EntityTable | None = None

    @classmethod
    def build(cls, options: Opts, encoder: SentenceTransformer, embeddings: Tensor | None) -> Self:
        """Make the method for an encoder.

        Args:
            options: An instance of `Options`.
            encoder: The encoder to train; a method may change its dropout.
            embeddings: Initial entity embeddings, shape (entities, entity dimension), if it reads a `table`.

        Raises:
            EaseError: If the encoder does not support the method.
        """
        return cls(options)

    @classmethod
    @abstractmethod
    def reads(cls, options: Opts) -> Reads:
        """Return what the method reads with these options."""

    @classmethod
    def describe(cls, record: MethodRecord, options: Opts, has_hard_negatives: bool) -> str:
        """Return one or two sentences about the method for a model card.

        Args:
            record: The method's.
            options: Those of the training run.
            has_hard_negatives: Whether the loss had hard negatives.
        """
        if has_hard_negatives:
            return f"{record.summary} {record.negatives_summary}".strip()
        return record.summary

    def derived_columns(self, encoder: SentenceTransformer, seed: int) -> Mapping[str, Derive]:
        """Return functions that make missing columns, or missing texts of a column, from the sentences."""
        return {}

    @abstractmethod
    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Compute the loss terms of a batch.

        Returns:
            Scalars by name; training minimises the one under `TOTAL`.
        """


class EntityOptions(StrictModel):
    """Parameters of methods that train an entity table."""

    entity_weight: float = Field(1.0, ge=0, description="λ, the weight of the entity loss; 0: no entity table")
    temperature: float = Field(0.05, gt=0, description="τ of the entity loss, dividing the cosine")
    self_supervised: bool = Field(True, description="add SimCSE's loss, equation 3 of EASE; false: entities alone")
    self_temperature: float = Field(0.05, gt=0, description="τ of SimCSE's loss")
    hard_negatives: bool = Field(True, description="use the pairs' hard negatives as candidates, as in equation 2")
    gather_negatives: bool = Field(
        False, description="use the candidates of all processes; not in the paper, no effect in a single process"
    )

    @model_validator(mode="after")
    def _keep_a_term(self) -> Self:
        if not (self.entity_weight or self.self_supervised or getattr(self, "attraction", 0)):
            raise EaseError(
                "Nothing is left to train: `self_supervised` is off and every weight of a loss is 0; use one."
            )
        return self


EntityOpts = TypeVar("EntityOpts", bound=EntityOptions)


class EntityMethod(TrainingMethod[EntityOpts]):
    """A method with an entity table and its projection into the encoder's space."""

    def __init__(self, options: EntityOpts, dimension: int, embeddings: Tensor | None, *, bias: bool = False) -> None:
        """Initialise the table from the embeddings and the projection at random.

        Args:
            options: λ, temperatures and variants.
            dimension: Of the sentence embeddings.
            embeddings: Shape (entities, entity dimension); may be None if `entity_weight` is 0.
            bias: Whether the projection has a bias.
        """
        super().__init__(options)
        # Without its loss, a table would only take memory.
        if options.entity_weight:
            if embeddings is None:
                raise EaseError("There are no entity embeddings to train: give some, or set `entity_weight` to 0.")
            self.table = EntityTable(embeddings)
            self.projection = nn.Linear(embeddings.shape[1], dimension, bias=bias)

    @classmethod
    def build(cls, options: EntityOpts, encoder: SentenceTransformer, embeddings: Tensor | None) -> Self:
        """Make the method for an encoder's dimension."""
        # Imported here, since the options of a method are checked without sentence-transformers.
        from ease.encoders.encoder import embedding_dimension

        return cls(options, embedding_dimension(encoder), embeddings)

    @classmethod
    def reads(cls, options: EntityOpts) -> Reads:
        """Return the views of each loss, and the entity table with its hard negatives, unless λ is 0."""
        views: tuple[str, ...] = (SENTENCE,)
        if options.self_supervised:
            views = (SENTENCE, SENTENCE)
        return Reads(views=views, entities=True, table=options.entity_weight > 0, hard_negatives=options.hard_negatives)

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Compute equation 4 of EASE, the sum of SimCSE's loss and the weighted entity loss, and both terms."""
        terms = {TOTAL: inputs.sentences.new_zeros(())}
        if self.table is not None and inputs.entities is not None:
            terms["entity_loss"] = self.entity_loss(self.table, inputs, inputs.entities)
            terms[TOTAL] = terms[TOTAL] + self.options.entity_weight * terms["entity_loss"]
        if self.options.self_supervised:
            terms["self_loss"] = self_supervised_term(
                inputs, self.options.self_temperature, self.options.gather_negatives
            )
            terms[TOTAL] = terms[TOTAL] + terms["self_loss"]
        return terms

    @abstractmethod
    def entity_loss(self, table: EntityTable, inputs: Inputs, entities: Entities) -> Tensor:
        """Compute the loss between sentences and entities."""


def self_supervised_term(inputs: Inputs, temperature: float, gathered: bool) -> Tensor:
    """Compute SimCSE's loss (EASE, equation 3) of two views, with the second views of all processes if gathered."""
    anchors, candidates = inputs.sentences
    targets = local_rows(len(anchors), anchors.device, gathered)
    if gathered:
        candidates = gather_with_gradient(candidates)
    return info_nce(anchors, candidates, temperature, targets=targets, mini_batch_size=inputs.mini_batch_size)


def local_rows(count: int, device: torch.device, gathered: bool) -> Tensor:
    """Return the rows of this process's pairs among the candidates, which may be gathered from all processes."""
    start = 0
    if gathered:
        # Gathered tensors have the rows of the processes in the order of their ranks, `count` of each.
        start = process_rank() * count
    return torch.arange(start, start + count, device=device)
