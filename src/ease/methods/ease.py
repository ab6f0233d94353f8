"""EASE (Nishikawa et al. 2022): an entity loss and a self-supervised loss, weighted by λ (equation 4)."""

from __future__ import annotations

from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

from ease.encoders.encoder import embedding_dimension
from ease.errors import EaseError
from ease.io.models import StrictModel
from ease.methods.base import SENTENCE, TOTAL, Inputs, TrainingMethod, own_rows, self_supervised_term
from ease.methods.components.distributed import gather
from ease.methods.components.entity_losses import excluded_candidates
from ease.methods.components.entity_table import EntityTable
from ease.methods.components.losses import info_nce


class EaseOptions(StrictModel):
    """Parameters of EASE; the defaults are equations 1 to 4 with temperatures that suit cosines."""

    entity_weight: float = Field(1.0, ge=0, description="λ of equation 4; 0: SimCSE alone")
    temperature: float = Field(0.05, gt=0, description="τ of equations 1 and 2, dividing the cosine")
    self_supervised: bool = Field(True, description="add equation 3; false: entity loss alone")
    self_temperature: float = Field(0.05, gt=0, description="τ of equation 3")
    projection: Literal["linear", "tanh"] = Field(
        "linear", description="W e as in the equations, or tanh(W e + b) as in the authors' released code"
    )
    hard_negatives: bool = Field(True, description="equation 2; false: equation 1")
    hard_negative_weight: float = Field(
        0.0, description="added to the logit of a pair's own hard negative; 1.0 in the authors' released code"
    )
    mask_same_entity: bool = Field(
        False, description="exclude candidates that are the sentence's own entity; not in the paper"
    )
    gather_negatives: bool = Field(
        False,
        description="use the candidates of all processes; not in the paper, no effect in a single process",
    )

    @model_validator(mode="after")
    def _keep_a_term(self) -> EaseOptions:
        if not self.entity_weight and not self.self_supervised:
            raise EaseError(
                "Nothing is left to train: `entity_weight` is 0 and `self_supervised` is off; use one."
            )
        return self


class Ease(TrainingMethod[EaseOptions]):
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
        """Initialise the table from the embeddings and the projection at random.

        Args:
            options: λ, temperatures and variants.
            dimension: Of the sentence embeddings.
            embeddings: Shape (entities, entity dimension); may be None if `entity_weight` is 0.
        """
        super().__init__(options)
        self.views = (SENTENCE, SENTENCE) if options.self_supervised else (SENTENCE,)
        if options.entity_weight:
            if embeddings is None:
                raise EaseError("EASE needs entity embeddings: give some, or set `entity_weight` to 0.")
            self.table = EntityTable(embeddings)
            self.projection = nn.Linear(embeddings.shape[1], dimension, bias=options.projection == "tanh")

    @classmethod
    def build(cls, options: EaseOptions, encoder: SentenceTransformer, embeddings: Tensor | None) -> Self:
        """Make EASE for an encoder's dimension."""
        return cls(options, embedding_dimension(encoder), embeddings)

    @classmethod
    def reads_table(cls, options: EaseOptions) -> bool:
        """Return whether there is an entity loss."""
        return options.entity_weight > 0

    @classmethod
    def reads_hard_negatives(cls, options: EaseOptions) -> bool:
        """Return whether hard negatives are among the candidates (equation 2)."""
        return options.hard_negatives

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
