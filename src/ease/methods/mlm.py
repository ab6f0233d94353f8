"""Masked-language modelling on the training sentences, to make an encoder that other methods start from."""

from __future__ import annotations

from typing import Self

from pydantic import Field
from sentence_transformers import SentenceTransformer
from torch import Tensor

from ease.io.models import StrictModel
from ease.methods.base import SENTENCE, TOTAL, Inputs, TrainingMethod
from ease.methods.components.masking import MaskedLanguageModel


class MlmOptions(StrictModel):
    """Parameters of masked-language modelling."""

    probability: float = Field(0.15, gt=0, lt=1, description="of masking a token")


class Mlm(TrainingMethod[MlmOptions]):
    """Masked-language modelling, with a prediction head that is trained with the encoder."""

    Options = MlmOptions
    matryoshka = False
    title = "MLM"
    summary = (
        "Masked-language modelling trains the encoder to predict masked tokens, as BERT's pre-training does."
    )
    views = ()
    token_columns = (SENTENCE,)

    def __init__(self, options: MlmOptions, encoder: SentenceTransformer) -> None:
        """Make the prediction head for an encoder."""
        super().__init__(options)
        self.masked = MaskedLanguageModel(encoder, options.probability)

    @classmethod
    def build(cls, options: MlmOptions, encoder: SentenceTransformer, embeddings: Tensor | None) -> Self:
        """Make the prediction head; the encoder must be a transformer with a mask token."""
        return cls(options, encoder)

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Compute the cross-entropy of the masked tokens."""
        return {TOTAL: self.masked(*inputs.texts[SENTENCE], inputs.autocast, inputs.mini_batch_size)}
