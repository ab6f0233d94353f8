"""Unsupervised SimCSE, the baseline: a sentence finds its own other dropout view (equation 3)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field
from sentence_transformers import SentenceTransformer
from torch import Tensor

from ease.errors import EaseError
from ease.methods.base import SENTENCE, TOTAL, Inputs, TrainingMethod, self_supervised_term


class SimcseOptions(BaseModel):
    """Parameters of SimCSE."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    self_temperature: float = Field(0.05, gt=0, description="τ of equation 3, dividing the cosine")
    gather_negatives: bool = Field(
        False, description="take candidates from all processes; no effect in a single process"
    )


class Simcse(TrainingMethod):
    """SimCSE: nothing is trained beside the encoder."""

    Options = SimcseOptions
    summary = "SimCSE brings a sentence close to its own encoding under another dropout mask."
    views = (SENTENCE, SENTENCE)

    def __init__(self, options: SimcseOptions) -> None:
        """Keep the options."""
        super().__init__()
        self.options = options

    @classmethod
    def needs_entities(cls, options: BaseModel) -> bool:
        """Read sentences alone."""
        return False

    @classmethod
    def build(cls, options: BaseModel, encoder: SentenceTransformer, embeddings: Tensor | None) -> Simcse:
        """Make SimCSE, for any encoder."""
        if not isinstance(options, SimcseOptions):
            raise EaseError(f"SimCSE takes SimcseOptions, not {type(options).__name__}.")
        return cls(options)

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Compute equation 3."""
        loss = self_supervised_term(
            inputs.sentences, self.options.self_temperature, self.options.gather_negatives
        )
        return {TOTAL: loss, "self_loss": loss}
