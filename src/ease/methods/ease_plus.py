"""EASE+: EASE with several entities of a sentence as positives; none of the sentence's entities is a negative."""

from __future__ import annotations

from typing import Self

import torch
from pydantic import Field, model_validator
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

from ease.encoders.encoder import embedding_dimension
from ease.entities.pairs import MAX_FURTHER
from ease.errors import EaseError
from ease.io.models import StrictModel
from ease.methods.base import (
    SENTENCE,
    TOTAL,
    GuideVectors,
    Inputs,
    TrainingMethod,
    own_rows,
    self_supervised_term,
)
from ease.methods.components.distributed import gather, gather_with_gradient
from ease.methods.components.entity_losses import false_negatives, same_entity_loss, several_positives_loss
from ease.methods.components.entity_table import EntityTable


class EasePlusOptions(StrictModel):
    """Parameters of EASE+."""

    entity_weight: float = Field(
        1.0, ge=0, description="λ, the weight of the entity loss; 0: there is no entity table"
    )
    temperature: float = Field(0.05, gt=0, description="τ of the entity loss, dividing the cosine")
    self_supervised: bool = Field(
        True, description="add SimCSE's loss, equation 3 of EASE; false: entities alone"
    )
    self_temperature: float = Field(0.05, gt=0, description="τ of SimCSE's loss")
    positives: int = Field(
        4,
        ge=1,
        le=1 + MAX_FURTHER,
        description="maximum number of positives of a sentence, its pair's own entity included; 1: only that entity",
    )
    subject_weight: float = Field(
        0.0,
        ge=0,
        description="weight of the page's own subject as one more positive, beside 1 for the others; 0: it is not read",
    )
    hard_negatives: bool = Field(True, description="use the pairs' hard negatives as candidates")
    attraction: float = Field(
        0.0,
        ge=0,
        description="weight of the supervised contrastive loss, in which sentences of one entity attract each other; "
        "0: none. It needs batches with several sentences of an entity (`batches.sentences_per_entity`)",
    )
    gather_negatives: bool = Field(
        False, description="use the candidates of all processes; no effect in a single process"
    )

    @model_validator(mode="after")
    def _keep_a_term(self) -> EasePlusOptions:
        if not (self.entity_weight or self.self_supervised or self.attraction):
            raise EaseError(
                "Nothing is left to train: `entity_weight` and `attraction` are 0, and `self_supervised` is off; use "
                "one."
            )
        return self


class EasePlus(TrainingMethod[EasePlusOptions]):
    """EASE+, with an entity table and its projection into the encoder's space."""

    Options = EasePlusOptions
    reads_entities = True
    guided = True
    title = "EASE+"
    summary = (
        "EASE+ pulls a sentence towards the embeddings of all entities that it links to; entities of other sentences "
        "are negatives."
    )
    negatives_summary = "Entities of the same type are hard negatives."

    def __init__(self, options: EasePlusOptions, dimension: int, embeddings: Tensor | None) -> None:
        """Initialise the table from the embeddings and the projection at random.

        Args:
            options: λ, temperatures and positives.
            dimension: Of the sentence embeddings.
            embeddings: Shape (entities, entity dimension); may be None if `entity_weight` is 0.
        """
        super().__init__(options)
        self.views = (SENTENCE, SENTENCE) if options.self_supervised else (SENTENCE,)
        if options.entity_weight:
            if embeddings is None:
                raise EaseError("EASE+ needs entity embeddings: give some, or set `entity_weight` to 0.")
            self.table = EntityTable(embeddings)
            self.projection = nn.Linear(embeddings.shape[1], dimension, bias=False)

    @classmethod
    def build(cls, options: EasePlusOptions, encoder: SentenceTransformer, embeddings: Tensor | None) -> Self:
        """Make EASE+ for an encoder's dimension."""
        return cls(options, embedding_dimension(encoder), embeddings)

    @classmethod
    def further_positives(cls, options: EasePlusOptions) -> int:
        """Return the number of positives beside the pair's own."""
        return options.positives - 1

    @classmethod
    def reads_table(cls, options: EasePlusOptions) -> bool:
        """Return whether there is an entity loss."""
        return options.entity_weight > 0

    @classmethod
    def reads_hard_negatives(cls, options: EasePlusOptions) -> bool:
        """Return whether hard negatives are among the candidates."""
        return options.hard_negatives

    @classmethod
    def reads_subjects(cls, options: EasePlusOptions) -> bool:
        """Return whether the page's subject has a weight."""
        return options.subject_weight > 0

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Compute the total loss and its terms."""
        terms: dict[str, Tensor] = {}
        total = inputs.sentences.new_zeros(())
        if self.table is not None:
            terms["entity_loss"] = self._entity_loss(self.table, inputs)
            total = total + self.options.entity_weight * terms["entity_loss"]
        if self.options.self_supervised:
            terms["self_loss"] = self_supervised_term(
                inputs, self.options.self_temperature, self.options.gather_negatives
            )
            total = total + terms["self_loss"]
        if self.options.attraction:
            terms["attraction_loss"] = self._attraction_loss(inputs)
            total = total + self.options.attraction * terms["attraction_loss"]
        return {TOTAL: total, **terms}

    def _attraction_loss(self, inputs: Inputs) -> Tensor:
        """Contrast, for each sentence, the sentences of the same entity with those of other entities."""
        assert inputs.entities is not None
        sentences, entities = inputs.sentences[0], inputs.entities.positives
        gathered = self.options.gather_negatives
        candidates = gather_with_gradient(sentences) if gathered else sentences
        return same_entity_loss(
            sentences,
            candidates,
            self.options.temperature,
            entities=entities,
            candidate_entities=gather(entities) if gathered else entities,
            own=own_rows(len(sentences), sentences.device, gathered),
            mini_batch_size=inputs.mini_batch_size,
        )

    def _entity_loss(self, table: EntityTable, inputs: Inputs) -> Tensor:
        """Contrast each sentence's positives with the entities of the other pairs and all hard negatives."""
        assert inputs.entities is not None
        positive_entities, hard_negatives, further, subjects, guide, used = inputs.entities
        candidates = self._candidates(positive_entities, hard_negatives)
        # Every process has the table and W: gathering the ids is enough, and exact.
        positives = positive_entities.unsqueeze(1)  # (n, 1)
        if further is not None:
            positives = torch.cat([positives, further], dim=1)
        if subjects is not None:
            positives = torch.cat([positives, subjects.unsqueeze(1)], dim=1)
        weights = torch.ones(positives.shape[1], device=positives.device)
        if subjects is not None:
            weights[-1:].fill_(self.options.subject_weight)
        found = table(positives.flatten(), candidates, used=used)
        rows = [self.projection(part) for part in found]
        return several_positives_loss(
            inputs.sentences[0],
            rows[0].unflatten(0, positives.shape),
            rows[1],
            self.options.temperature,
            positive_ids=positives,
            candidate_ids=candidates,
            weights=weights,
            excluded=None if guide is None else self._false_negatives(guide),
            mini_batch_size=inputs.mini_batch_size,
        )

    def _candidates(self, positives: Tensor, hard_negatives: Tensor) -> Tensor:
        """Return the entities, or their vectors, that every sentence of the batch is contrasted with."""
        joint = torch.cat([positives, hard_negatives]) if self.options.hard_negatives else positives
        return gather(joint) if self.options.gather_negatives else joint

    def _false_negatives(self, guide: GuideVectors) -> Tensor:
        """Return which candidates the guide finds more similar to a sentence than the sentence's own entity."""
        candidates = self._candidates(guide.positives, guide.hard_negatives)
        return false_negatives(guide.sentences, guide.positives, candidates)
