"""Supervised SimCSE (Gao et al. 2021, section 4): contrastive learning with positives and hard negatives from NLI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypeVar

import torch
from pydantic import BaseModel, Field
from sentence_transformers import SentenceTransformer
from torch import Tensor

from ease.methods.base import POSITIVE, SENTENCE, TOTAL, Derive, Inputs, Reads, TrainingMethod, local_rows
from ease.methods.components.distributed import gather, gather_with_gradient
from ease.methods.components.losses import info_nce
from ease.options import StrictModel

NEGATIVE = "negative"


class SupervisedSimcseOptions(StrictModel):
    """Parameters of supervised SimCSE."""

    temperature: float = Field(0.05, gt=0, description="τ of equation 5, dividing the cosine")
    hard_negative_weight: float = Field(
        0.0, description="added to the logit of an anchor's own hard negative: log α of the paper"
    )
    gather_negatives: bool = Field(
        False, description="use the candidates of all processes; no effect in a single process"
    )


SupervisedOpts = TypeVar("SupervisedOpts", bound=SupervisedSimcseOptions)


class SupervisedSimcse(TrainingMethod[SupervisedOpts]):
    """Supervised SimCSE; it trains no parameters other than the encoder's."""

    Options: ClassVar[type[BaseModel]] = SupervisedSimcseOptions

    @classmethod
    def reads(cls, options: SupervisedOpts) -> Reads:
        """Return the premise, the hypothesis that it entails, and one that contradicts it."""
        return Reads(views=(SENTENCE, POSITIVE, NEGATIVE), required=(SENTENCE, POSITIVE))

    def derived_columns(self, encoder: SentenceTransformer, seed: int) -> Mapping[str, Derive]:
        """Accept texts without a column of hard negatives."""
        return {NEGATIVE: lambda sentences, rows: [None] * len(sentences)}

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Compute equation 5 over the candidates of this process, or of all processes."""
        anchors, positives, negatives = inputs.sentences
        present = inputs.present[2]
        targets = local_rows(len(anchors), anchors.device, self.options.gather_negatives)
        if self.options.gather_negatives:
            candidates = gather_with_gradient(torch.stack([positives, negatives], dim=1))  # (m, 2, dimension)
            positives, negatives = candidates.unbind(dim=1)
            present = gather(present.byte()).bool()  # gloo gathers no booleans
        loss = info_nce(
            anchors,
            positives,
            self.options.temperature,
            hard_negatives=negatives,
            targets=targets,
            excluded=absent_negatives(present, len(anchors)),
            hard_negative_weight=self.options.hard_negative_weight,
            mini_batch_size=inputs.mini_batch_size,
        )
        return {TOTAL: loss}


def absent_negatives(present: Tensor, anchors: int) -> Tensor:
    """Return the mask of missing hard negatives among the candidates, (anchors, 2m); `present` is (m,)."""
    return torch.cat([torch.zeros_like(present), ~present]).expand(anchors, -1)
