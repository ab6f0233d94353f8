"""Supervised SimCSE (Gao et al. 2021, section 4): an anchor finds its positive among positives and hard negatives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

import torch
from pydantic import BaseModel, ConfigDict, Field
from sentence_transformers import SentenceTransformer
from torch import Tensor

from ease.errors import EaseError
from ease.methods.base import SENTENCE, TOTAL, Derive, Inputs, TrainingMethod, own_rows
from ease.methods.components.distributed import gather, gather_with_gradient
from ease.methods.components.losses import info_nce

POSITIVE, NEGATIVE = "positive", "negative"


class SupervisedSimcseOptions(BaseModel):
    """Parameters of supervised SimCSE."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    temperature: float = Field(0.05, gt=0, description="τ of equation 5, dividing the cosine")
    hard_negative_weight: float = Field(
        0.0,
        description="added to the logit of an anchor's own hard negative: the logarithm of the paper's α",
    )
    gather_negatives: bool = Field(
        False, description="take candidates from all processes; no effect in a single process"
    )


class SupervisedSimcse(TrainingMethod):
    """Supervised SimCSE: nothing is trained beside the encoder."""

    Options: ClassVar[type[BaseModel]] = SupervisedSimcseOptions
    title = "supervised SimCSE"
    summary = (
        "Supervised SimCSE brings a sentence close to one that it entails, and away from the other sentences of the "
        "batch."
    )
    negatives_summary = "Sentences that contradict it are hard negatives."
    name: ClassVar[str] = "Supervised SimCSE"
    views = (SENTENCE, POSITIVE, NEGATIVE)
    required: tuple[str, ...] = (SENTENCE, POSITIVE)

    def __init__(self, options: SupervisedSimcseOptions) -> None:
        """Keep the options."""
        super().__init__()
        self.options = options

    @classmethod
    def build(cls, options: BaseModel, encoder: SentenceTransformer, embeddings: Tensor | None) -> Self:
        """Make the method, for any encoder."""
        if not isinstance(options, SupervisedSimcseOptions) or not isinstance(options, cls.Options):
            raise EaseError(f"{cls.name} takes {cls.Options.__name__}, not {type(options).__name__}.")
        return cls(options)

    def derived_columns(self, encoder: SentenceTransformer, seed: int) -> Mapping[str, Derive]:
        """Let texts without a column of hard negatives have none."""
        return {NEGATIVE: lambda sentences, rows: [None] * len(sentences)}

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Compute equation 5 over a batch, or over the candidates of all processes."""
        anchors, positives, negatives = inputs.sentences
        present = inputs.present[2]
        own = own_rows(len(anchors), anchors.device, self.options.gather_negatives)
        if self.options.gather_negatives:
            candidates = gather_with_gradient(torch.stack([positives, negatives], dim=1))  # (m, 2, dimension)
            positives, negatives = candidates.unbind(dim=1)
            present = gather(present.byte()).bool()  # gloo gathers no booleans
        absent = torch.cat([torch.zeros_like(present), ~present])  # (2m,)
        loss = info_nce(
            anchors,
            positives,
            self.options.temperature,
            hard_negatives=negatives,
            own=own,
            excluded=absent.expand(len(anchors), -1),
            hard_negative_weight=self.options.hard_negative_weight,
            mini_batch_size=inputs.mini_batch_size,
        )
        return {TOTAL: loss}
