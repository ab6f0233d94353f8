"""Masked-language modelling of the encoder on the training sentences: a start for other methods."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field
from sentence_transformers import SentenceTransformer
from torch import Tensor

from ease.errors import EaseError
from ease.methods.base import SENTENCE, TOTAL, Inputs, TrainingMethod
from ease.methods.components.masking import MaskedLanguageModel


class MlmOptions(BaseModel):
    """Parameters of masked-language modelling."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    probability: float = Field(0.15, gt=0, lt=1, description="with which a token is masked")


class Mlm(TrainingMethod):
    """Masked-language modelling, whose head is trained beside the encoder."""

    Options = MlmOptions
    title = "MLM"
    summary = "Masked-language modelling lets the encoder predict tokens that are hidden from it (BERT)."
    views = ()
    token_columns = (SENTENCE,)

    def __init__(self, options: MlmOptions, encoder: SentenceTransformer) -> None:
        """Make the head for an encoder."""
        super().__init__()
        self.options = options
        self.masked = MaskedLanguageModel(encoder, options.probability)

    @classmethod
    def build(cls, options: BaseModel, encoder: SentenceTransformer, embeddings: Tensor | None) -> Mlm:
        """Make the head for an encoder, which must be a transformer with a mask token."""
        if not isinstance(options, MlmOptions):
            raise EaseError(f"MLM takes MlmOptions, not {type(options).__name__}.")
        return cls(options, encoder)

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Compute the cross-entropy of masked tokens."""
        tokens, mask = inputs.texts[SENTENCE]
        return {TOTAL: self.masked(tokens, mask, inputs.autocast, inputs.mini_batch_size)}
