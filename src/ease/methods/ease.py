"""EASE: a sentence finds its entity (equations 1 and 2) and its other dropout view (3), weighted (4)."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

from ease.encoders.encoder import embedding_dimension
from ease.errors import EaseError
from ease.methods.base import (
    SENTENCE,
    TOTAL,
    Entities,
    Inputs,
    TrainingMethod,
    own_rows,
    self_supervised_term,
)
from ease.methods.components.distributed import gather
from ease.methods.components.entity_table import EntityTable
from ease.methods.components.losses import excluded_candidates, info_nce


class EaseOptions(BaseModel):
    """Parameters of EASE; the defaults are equations 1 to 4 with the temperatures of cosines."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    entity_weight: float = Field(1.0, ge=0, description="λ of equation 4; 0 leaves SimCSE alone")
    temperature: float = Field(0.05, gt=0, description="τ of equations 1 and 2, dividing the cosine")
    self_supervised: bool = Field(True, description="add equation 3; off: entity loss alone")
    self_temperature: float = Field(0.05, gt=0, description="τ of equation 3")
    projection: Literal["linear", "tanh"] = Field(
        "linear", description="W e as in the equations, or tanh(W e + b) as in the authors' released code"
    )
    hard_negatives: bool = Field(True, description="equation 2; off: equation 1")
    hard_negative_weight: float = Field(
        0.0, description="added to the logit of a pair's own hard negative; 1.0 in the authors' released code"
    )
    mask_same_entity: bool = Field(
        False, description="leave out other pairs' entities that are the sentence's own; not in the paper"
    )
    gather_negatives: bool = Field(
        False,
        description="take candidates from all processes; not in the paper, no effect in a single process",
    )

    @model_validator(mode="after")
    def _keep_a_term(self) -> EaseOptions:
        if not self.entity_weight and not self.self_supervised:
            raise EaseError(
                "Nothing is left to train: `entity_weight` is 0 and `self_supervised` is off; use one."
            )
        return self


class Ease(TrainingMethod):
    """EASE with its entity table and projection, both trained."""

    Options = EaseOptions
    reads_entities = True
    title = "EASE"
    summary = (
        "EASE brings a sentence close to the embedding of an entity that it links to and away from other "
        "entities, and close to its own encoding under another dropout mask."
    )
    negatives_summary = "Hard negatives, entities of the same type, are among the others."

    def __init__(self, options: EaseOptions, dimension: int, embeddings: Tensor | None) -> None:
        """Start the table from the embeddings and the projection at random."""
        super().__init__()
        self.options = options
        self.views = (SENTENCE, SENTENCE) if options.self_supervised else (SENTENCE,)
        if options.entity_weight:
            if embeddings is None:
                raise EaseError(
                    "EASE needs an entity table to start from: give one, or set `entity_weight` to 0."
                )
            self.table = EntityTable(embeddings)
            self.projection = nn.Linear(embeddings.shape[1], dimension, bias=options.projection == "tanh")

    @classmethod
    def build(cls, options: BaseModel, encoder: SentenceTransformer, embeddings: Tensor | None) -> Ease:
        """Make EASE for the dimension of an encoder."""
        return cls(_checked(options), embedding_dimension(encoder), embeddings)

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Compute equation 4 and its terms."""
        sentences, entities, mini_batch_size = inputs.sentences, inputs.entities, inputs.mini_batch_size
        terms: dict[str, Tensor] = {}
        if self.options.self_supervised:
            terms["self_loss"] = self_supervised_term(
                sentences, self.options.self_temperature, self.options.gather_negatives, mini_batch_size
            )
        if self.table is not None and entities is not None:
            terms["entity_loss"] = self._entity_loss(sentences[0], entities, mini_batch_size)
        weights = {"entity_loss": self.options.entity_weight, "self_loss": 1.0}
        total = torch.stack([weights[name] * term for name, term in terms.items()]).sum()
        return {TOTAL: total, **terms}

    def _entity_loss(self, sentences: Tensor, entities: Entities, mini_batch_size: int | None) -> Tensor:
        """Equation 1 or 2: (n, dimension) -> ()."""
        positives = entities.positives
        negatives = entities.hard_negatives if self.options.hard_negatives else None
        if self.options.gather_negatives:
            # The table and W are on every process: gathering the ids is enough, and exact.
            positives = gather(positives)
            negatives = None if negatives is None else gather(negatives)
        own = own_rows(len(sentences), sentences.device, self.options.gather_negatives)
        excluded = excluded_candidates(
            positives, negatives, own=own, mask_same_entity=self.options.mask_same_entity
        )
        ids = [positives] if negatives is None else [positives, negatives]
        projected = [self._project(rows) for rows in self._look_up(ids)]
        return info_nce(
            sentences,
            projected[0],
            self.options.temperature,
            hard_negatives=projected[1] if negatives is not None else None,
            own=own,
            excluded=excluded,
            hard_negative_weight=self.options.hard_negative_weight,
            mini_batch_size=mini_batch_size,
        )

    def _look_up(self, ids: list[Tensor]) -> list[Tensor]:
        assert self.table is not None
        rows: list[Tensor] = self.table(*ids)
        return rows

    def _project(self, rows: Tensor) -> Tensor:
        """W e, or tanh(W e + b): (m, entity dimension) -> (m, dimension)."""
        projected: Tensor = self.projection(rows)
        return projected.tanh() if self.options.projection == "tanh" else projected


def _checked(options: BaseModel) -> EaseOptions:
    if not isinstance(options, EaseOptions):
        raise EaseError(f"EASE takes EaseOptions, not {type(options).__name__}.")
    return options
