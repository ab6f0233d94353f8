"""EASE (Nishikawa et al. 2022): an entity loss and a self-supervised loss, weighted by λ (equation 4)."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from ease.errors import EaseError
from ease.methods.base import TOTAL, EntityMethod, EntityOptions, Inputs, own_rows, self_supervised_term
from ease.methods.components.distributed import gather
from ease.methods.components.entity_losses import excluded_candidates
from ease.methods.components.entity_table import EntityTable
from ease.methods.components.losses import info_nce


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

    @model_validator(mode="after")
    def _keep_a_term(self) -> EaseOptions:
        if not self.entity_weight and not self.self_supervised:
            raise EaseError(
                "Nothing is left to train: `entity_weight` is 0 and `self_supervised` is off; use one."
            )
        return self


class Ease(EntityMethod[EaseOptions]):
    """EASE, with an entity table and its projection into the encoder's space."""

    Options = EaseOptions
    reads_entities = True
    title = "EASE"
    summary = (
        "EASE pulls a sentence towards the embedding of an entity that it links to and towards its own encoding "
        "under another dropout mask; other entities are negatives."
    )
    negatives_summary = "Entities of the same type are hard negatives."

    def __init__(self, options: EaseOptions, dimension: int, embeddings: Tensor | None) -> None:
        """Give the projection a bias if it ends with tanh."""
        super().__init__(options, dimension, embeddings, bias=options.projection == "tanh")

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Compute equation 4 and its terms."""
        terms: dict[str, Tensor] = {}
        if self.options.self_supervised:
            terms["self_loss"] = self_supervised_term(
                inputs, self.options.self_temperature, self.options.gather_negatives
            )
        if self.table is not None and inputs.entities is not None:
            terms["entity_loss"] = self._entity_loss(self.table, inputs)
        weights = {"entity_loss": self.options.entity_weight, "self_loss": 1.0}
        total = torch.stack([weights[name] * term for name, term in terms.items()]).sum()
        return {TOTAL: total, **terms}

    def _entity_loss(self, table: EntityTable, inputs: Inputs) -> Tensor:
        """Equation 1, or 2 with hard negatives."""
        assert inputs.entities is not None
        sentences, (positives, hard_negatives, *_) = inputs.sentences[0], inputs.entities
        negatives = hard_negatives if self.options.hard_negatives else None
        if self.options.gather_negatives:
            # Every process has the table and W: gathering the ids is enough, and exact.
            positives = gather(positives)
            negatives = None if negatives is None else gather(negatives)
        own = own_rows(len(sentences), sentences.device, self.options.gather_negatives)
        excluded = excluded_candidates(
            positives, negatives, own=own, mask_same_entity=self.options.mask_same_entity
        )
        ids = [positives] if negatives is None else [positives, negatives]
        projected = [self._project(rows) for rows in table(*ids, used=inputs.entities.used)]
        return info_nce(
            sentences,
            projected[0],
            self.options.temperature,
            hard_negatives=None if negatives is None else projected[1],
            own=own,
            excluded=excluded,
            hard_negative_weight=self.options.hard_negative_weight,
            mini_batch_size=inputs.mini_batch_size,
        )

    def _project(self, rows: Tensor) -> Tensor:
        """W e, or tanh(W e + b): (m, entity dimension) -> (m, dimension)."""
        projected: Tensor = self.projection(rows)
        return projected.tanh() if self.options.projection == "tanh" else projected
