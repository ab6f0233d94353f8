"""EASE (Nishikawa et al. 2022): an entity loss and a self-supervised loss, weighted by λ (equation 4)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor

from ease.methods.base import Entities, EntityMethod, EntityOptions, Inputs, local_rows
from ease.methods.components.distributed import gather
from ease.methods.components.entity_table import EntityTable
from ease.methods.components.losses import excluded_candidates, info_nce


class EaseOptions(EntityOptions):
    """Parameters of EASE; the defaults are equations 1 to 4 with temperatures that suit cosines."""

    projection: Literal["linear", "tanh"] = Field(
        "linear", description="W e as in the equations, or tanh(W e + b) as in the authors' released code"
    )
    hard_negative_weight: float = Field(
        0.0, description="added to the logit of a pair's own hard negative; 1.0 in the authors' released code"
    )
    mask_same_entity: bool = Field(
        False, description="exclude candidates that are the sentence's own entity; not in the paper"
    )


class Ease(EntityMethod[EaseOptions]):
    """EASE, with an entity table and its projection into the encoder's space."""

    Options = EaseOptions

    def __init__(self, options: EaseOptions, dimension: int, embeddings: Tensor | None) -> None:
        super().__init__(options, dimension, embeddings, bias=options.projection == "tanh")

    def entity_loss(self, table: EntityTable, inputs: Inputs, entities: Entities) -> Tensor:
        """Compute equation 1, or 2 with hard negatives; the projection is W e or tanh(W e + b)."""
        options = self.options
        sentences = inputs.sentences[0]  # of two views of a sentence, the first
        ids = [entities.positives]
        if options.hard_negatives:
            ids.append(entities.hard_negatives)
        if options.gather_negatives:
            # Every process has the table and W: gathering the ids is enough, and exact.
            ids = [gather(part) for part in ids]
        targets = local_rows(len(sentences), sentences.device, options.gather_negatives)
        projected = [self.projection(rows) for rows in table(*ids, distinct_rows=entities.distinct_rows)]
        if options.projection == "tanh":
            projected = [rows.tanh() for rows in projected]
        positives, *hard_negatives = projected
        return info_nce(
            sentences,
            positives,
            options.temperature,
            hard_negatives=next(iter(hard_negatives), None),
            targets=targets,
            excluded=excluded_candidates(*ids, targets=targets, mask_same_entity=options.mask_same_entity),
            hard_negative_weight=options.hard_negative_weight,
            mini_batch_size=inputs.mini_batch_size,
        )
