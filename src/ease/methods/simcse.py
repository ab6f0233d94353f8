"""Unsupervised SimCSE, the baseline: a sentence finds its own other dropout view (equation 3)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field
from sentence_transformers import SentenceTransformer
from torch import Tensor

from ease.errors import EaseError
from ease.methods.base import SENTENCE, TOTAL, Inputs, TrainingMethod, self_supervised_term
from ease.methods.components.masking import MaskedLanguageModel


class SimcseOptions(BaseModel):
    """Parameters of SimCSE."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    self_temperature: float = Field(0.05, gt=0, description="τ of equation 3, dividing the cosine")
    gather_negatives: bool = Field(
        False, description="take candidates from all processes; no effect in a single process"
    )
    mlm_weight: float = Field(
        0.0,
        ge=0,
        description="λ of the auxiliary masked-language-modelling loss: 0.1 in SimCSE's paper; 0: none",
    )
    mlm_probability: float = Field(0.15, gt=0, lt=1, description="with which that loss masks a token")


class Simcse(TrainingMethod):
    """SimCSE: nothing is trained beside the encoder, but for the head of the MLM loss where there is one."""

    Options = SimcseOptions
    title = "SimCSE"
    summary = "SimCSE brings a sentence close to its own encoding under another dropout mask."
    views = (SENTENCE, SENTENCE)

    def __init__(self, options: SimcseOptions, encoder: SentenceTransformer) -> None:
        """Make what the MLM loss needs, where it has a weight."""
        super().__init__()
        self.options = options
        self.masked: MaskedLanguageModel | None = None
        if options.mlm_weight:
            self.token_columns = (SENTENCE,)
            self.masked = MaskedLanguageModel(encoder, options.mlm_probability)

    @classmethod
    def build(cls, options: BaseModel, encoder: SentenceTransformer, embeddings: Tensor | None) -> Simcse:
        """Make SimCSE, for any encoder; the MLM loss wants a transformer with a mask token."""
        if not isinstance(options, SimcseOptions):
            raise EaseError(f"SimCSE takes SimcseOptions, not {type(options).__name__}.")
        return cls(options, encoder)

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Compute equation 3, and the MLM loss of the sentences where it has a weight."""
        loss = self_supervised_term(
            inputs.sentences,
            self.options.self_temperature,
            self.options.gather_negatives,
            inputs.mini_batch_size,
        )
        if self.masked is None:
            return {TOTAL: loss, "self_loss": loss}
        mlm_loss = self.masked(*inputs.texts[SENTENCE], inputs.autocast, inputs.mini_batch_size)
        return {TOTAL: loss + self.options.mlm_weight * mlm_loss, "self_loss": loss, "mlm_loss": mlm_loss}
