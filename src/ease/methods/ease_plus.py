"""EASE+: EASE with several entities of a sentence as positives; none of the sentence's entities is a negative."""

from __future__ import annotations

import torch
from pydantic import Field, model_validator
from torch import Tensor

from ease.entities.pairs import MAX_FURTHER
from ease.errors import EaseError
from ease.methods.base import (
    TOTAL,
    EntityMethod,
    EntityOptions,
    GuideVectors,
    Inputs,
    own_rows,
    self_supervised_term,
)
from ease.methods.components.distributed import gather, gather_with_gradient
from ease.methods.components.entity_losses import false_negatives, same_entity_loss, several_positives_loss
from ease.methods.components.entity_table import EntityTable


class EasePlusOptions(EntityOptions):
    """Parameters of EASE+."""

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
    attraction: float = Field(
        0.0,
        ge=0,
        description="weight of the supervised contrastive loss, in which sentences of one entity attract each other; "
        "0: none. It needs batches with several sentences of an entity (`batches.sentences_per_entity`)",
    )

    @model_validator(mode="after")
    def _keep_a_term(self) -> EasePlusOptions:
        if not (self.entity_weight or self.self_supervised or self.attraction):
            raise EaseError(
                "Nothing is left to train: `entity_weight` and `attraction` are 0, and `self_supervised` is off; use "
                "one."
            )
        return self


class EasePlus(EntityMethod[EasePlusOptions]):
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

    @classmethod
    def further_positives(cls, options: EasePlusOptions) -> int:
        """Return the number of positives beside the pair's own."""
        return options.positives - 1

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
