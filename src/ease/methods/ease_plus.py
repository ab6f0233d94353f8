"""EASE+: EASE with several entities of a sentence as positives; none of the sentence's entities is a negative."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor

from ease.entities.pairs import MAX_FURTHER
from ease.methods.base import TOTAL, Entities, EntityMethod, EntityOptions, Inputs, Reads, local_rows
from ease.methods.components.distributed import gather, gather_with_gradient
from ease.methods.components.entity_table import EntityTable
from ease.methods.components.losses import false_negatives, same_entity_loss, several_positives_loss
from ease.methods.records import MethodRecord


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


class EasePlus(EntityMethod[EasePlusOptions]):
    """EASE+, with an entity table and its projection into the encoder's space."""

    Options = EasePlusOptions

    @classmethod
    def reads(cls, options: EasePlusOptions) -> Reads:
        """Add the sentence's other entities, and the page's subject if it has a weight."""
        further = options.positives - 1  # the pair's own entity is the first
        return super().reads(options)._replace(further_positives=further, subjects=options.subject_weight > 0)

    @classmethod
    def describe(cls, record: MethodRecord, options: EasePlusOptions, has_hard_negatives: bool) -> str:
        """Name only the losses that have a weight: on pretrained encoders, the entity loss has none by default."""
        positives = []
        if options.entity_weight:
            positives.append("the embeddings of entities that it links to")
        if options.attraction:
            positives.append("other sentences about the same entity")
        if options.self_supervised:
            positives.append("its own encoding under another dropout mask")
        summary = f"{record.title} pulls a sentence towards {' and towards '.join(positives)}."
        if options.entity_weight:
            summary = f"{summary} Entities of other sentences are negatives."
        if has_hard_negatives:
            summary = f"{summary} {record.negatives_summary}"
        return summary

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Add the attraction between sentences of the same entity to equation 4."""
        terms = super().forward(inputs)
        if self.options.attraction and inputs.entities is not None:
            terms["attraction_loss"] = self._attraction_loss(inputs, inputs.entities)
            terms[TOTAL] = terms[TOTAL] + self.options.attraction * terms["attraction_loss"]
        return terms

    def _attraction_loss(self, inputs: Inputs, entities: Entities) -> Tensor:
        """Attract each sentence to the others of its pair's entity."""
        sentences = inputs.sentences[0]
        candidates = sentences
        candidate_entities = entities.positives
        if self.options.gather_negatives:
            candidates = gather_with_gradient(sentences)
            candidate_entities = gather(entities.positives)
        return same_entity_loss(
            sentences,
            candidates,
            self.options.temperature,
            entities=entities.positives,
            candidate_entities=candidate_entities,
            targets=local_rows(len(sentences), sentences.device, self.options.gather_negatives),
            mini_batch_size=inputs.mini_batch_size,
        )

    def entity_loss(self, table: EntityTable, inputs: Inputs, entities: Entities) -> Tensor:
        """Contrast each sentence's positives with the entities of the other pairs and all hard negatives.

        A candidate that a guide finds more similar to a sentence than the sentence's own entity is no negative.
        """
        candidates = self._candidates(entities.positives, entities.hard_negatives)
        positive_columns = [entities.positives.unsqueeze(1)]
        if entities.further is not None:
            positive_columns.append(entities.further)
        if entities.subjects is not None:
            positive_columns.append(entities.subjects.unsqueeze(1))
        all_positives = torch.cat(positive_columns, dim=1)  # (n, k)
        weights = torch.ones(all_positives.shape[1], device=all_positives.device)
        if entities.subjects is not None:
            # `fill_`, since assigning a number would copy it from the host to the GPU.
            weights[-1:].fill_(self.options.subject_weight)
        excluded = None
        guide = entities.guide
        if guide is not None:
            guide_candidates = self._candidates(guide.positives, guide.hard_negatives)
            excluded = false_negatives(guide.sentences, guide.positives, guide_candidates)
        positive_rows, candidate_rows = table(all_positives.flatten(), candidates, distinct_rows=entities.distinct_rows)
        return several_positives_loss(
            inputs.sentences[0],
            self.projection(positive_rows).unflatten(0, all_positives.shape),
            self.projection(candidate_rows),
            self.options.temperature,
            positive_ids=all_positives,
            candidate_ids=candidates,
            weights=weights,
            excluded=excluded,
            mini_batch_size=inputs.mini_batch_size,
        )

    def _candidates(self, positives: Tensor, hard_negatives: Tensor) -> Tensor:
        """Join positives with hard negatives, as ids or as the guide's embeddings, and with those of all processes."""
        candidates = positives
        if self.options.hard_negatives:
            candidates = torch.cat([positives, hard_negatives])
        if self.options.gather_negatives:
            # Every process has the table and W: gathering the ids is enough, and exact.
            candidates = gather(candidates)
        return candidates
