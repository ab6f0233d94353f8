"""Unsupervised SimCSE (Gao et al. 2021): the positive of a sentence is its own second dropout view."""

from __future__ import annotations

from typing import Self

from pydantic import Field
from sentence_transformers import SentenceTransformer
from torch import Tensor

from ease.methods.base import SENTENCE, TOTAL, Inputs, Reads, TrainingMethod, self_supervised_term
from ease.methods.mlm import MaskedLanguageModel
from ease.options import StrictModel


class SimcseOptions(StrictModel):
    """Parameters of SimCSE."""

    self_temperature: float = Field(0.05, gt=0, description="τ, dividing the cosine")
    gather_negatives: bool = Field(
        False, description="use the candidates of all processes; no effect in a single process"
    )
    mlm_weight: float = Field(
        0.0,
        ge=0,
        description="λ of the auxiliary masked-language-modelling loss: 0.1 in SimCSE's paper; 0: no such loss",
    )
    mlm_probability: float = Field(0.15, gt=0, lt=1, description="of masking a token in the auxiliary loss")


class Simcse(TrainingMethod[SimcseOptions]):
    """SimCSE, optionally with an auxiliary masked-language-modelling loss."""

    Options = SimcseOptions

    def __init__(self, options: SimcseOptions, encoder: SentenceTransformer) -> None:
        """Make the prediction head of the auxiliary loss if that loss has a weight."""
        super().__init__(options)
        self.masked: MaskedLanguageModel | None = None
        if options.mlm_weight:
            self.masked = MaskedLanguageModel(encoder, options.mlm_probability)

    @classmethod
    def reads(cls, options: SimcseOptions) -> Reads:
        """Return both views of a sentence; the auxiliary loss also reads its tokens and their matrix."""
        views = (SENTENCE, SENTENCE)
        if options.mlm_weight:
            return Reads(views=views, token_columns=(SENTENCE,), token_matrix=True)
        return Reads(views=views)

    @classmethod
    def build(cls, options: SimcseOptions, encoder: SentenceTransformer, embeddings: Tensor | None) -> Self:
        """Make SimCSE for any encoder; the auxiliary loss needs a transformer with a mask token."""
        return cls(options, encoder)

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Compute InfoNCE between the two views, and the auxiliary loss if it has a weight."""
        loss = self_supervised_term(inputs, self.options.self_temperature, self.options.gather_negatives)
        if self.masked is None:
            return {TOTAL: loss, "self_loss": loss}
        mlm_loss = self.masked(*inputs.texts[SENTENCE], inputs.autocast, inputs.mini_batch_size)
        return {TOTAL: loss + self.options.mlm_weight * mlm_loss, "self_loss": loss, "mlm_loss": mlm_loss}
