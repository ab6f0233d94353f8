"""Mirror-BERT: a string finds its own other view, which masking and dropout have changed (equation 1)."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field, model_validator
from sentence_transformers import SentenceTransformer
from torch import Tensor

from ease.errors import EaseError
from ease.methods.base import SENTENCE, TOTAL, Derive, Inputs, TrainingMethod, own_rows
from ease.methods.components.distributed import gather_with_gradient
from ease.methods.components.drophead import set_drophead, set_dropout
from ease.methods.components.losses import mirrored_loss
from ease.methods.components.span_masking import SpanMasking, mask_token

MASKED = "masked_sentence"
"""The column of the second views where spans are masked."""


class MirrorBertOptions(BaseModel):
    """Parameters of Mirror-BERT; the defaults are the paper's for sentences (section 3)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    temperature: float = Field(0.04, gt=0, description="τ of equation 1, dividing the cosine; 0.2 for words")
    span: int = Field(
        5, ge=0, description="characters masked in one view, k; 2 for phrases, 0 for words: none"
    )
    shortest_masked: int = Field(
        30,
        ge=1,
        description="strings of fewer characters are not masked; 30 in the authors' released code, 1: all over `span`",
    )
    dropout: float | None = Field(0.1, ge=0, lt=1, description="rate set on the encoder; null: as it is")
    drophead: float = Field(0.0, ge=0, lt=1, description="probability with which an attention head drops out")
    controlled_dropout: bool = Field(
        False, description="let both views share what drops out, as the probe of Table 8; needs `span: 0`"
    )
    positive_in_denominator: bool = Field(
        True, description="as in the authors' released code; false: equation 1 as printed"
    )
    gather_negatives: bool = Field(
        False,
        description="take candidates from all processes; not in the paper, no effect in a single process",
    )

    @model_validator(mode="after")
    def _share_between_equals(self) -> MirrorBertOptions:
        if self.controlled_dropout and self.span:
            raise EaseError(
                f"`controlled_dropout` lets two identical texts share what drops out, and `span` {self.span} makes "
                "them differ: set `span: 0`."
            )
        return self


class MirrorBert(TrainingMethod):
    """Mirror-BERT: nothing is trained beside the encoder, whose rates of dropout are set."""

    Options = MirrorBertOptions
    title = "Mirror-BERT"
    summary = (
        "Mirror-BERT brings a string close to its own other encoding, under another dropout mask and with a span "
        "of characters masked, and away from both encodings of other strings."
    )

    def __init__(self, options: MirrorBertOptions) -> None:
        """Choose the views: under controlled dropout two encodings would be one and the same."""
        super().__init__()
        self.options = options
        self.views = (
            (SENTENCE,) if options.controlled_dropout else (SENTENCE, MASKED if options.span else SENTENCE)
        )

    @classmethod
    def build(cls, options: BaseModel, encoder: SentenceTransformer, embeddings: Tensor | None) -> MirrorBert:
        """Make Mirror-BERT, and set what drops out of the encoder.

        Raises:
            EaseError: If spans are to be masked and the encoder has no mask token, or DropHead does not know its
                architecture, or it has no dropout layers.
        """
        if not isinstance(options, MirrorBertOptions):
            raise EaseError(f"Mirror-BERT takes MirrorBertOptions, not {type(options).__name__}.")
        if options.span:
            mask_token(encoder)
        if options.dropout is not None:
            set_dropout(encoder, options.dropout)
        if options.drophead:
            set_drophead(encoder, options.drophead)
        return cls(options)

    def derived_columns(self, encoder: SentenceTransformer, seed: int) -> Mapping[str, Derive]:
        """Mask a span of each string once, seeded by its row, so that a training that goes on reads the same ones.

        One epoch is the paper's; in further ones a string has the span that it had in the first.
        """
        if not self.options.span:
            return {}
        token = mask_token(encoder)
        return {MASKED: SpanMasking(self.options.span, self.options.shortest_masked, token, seed)}

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Compute equation 1, both views of every string being anchors.

        Raises:
            EaseError: If a string has no negatives and its positive is not in the denominator.
        """
        views = inputs.sentences.expand(2, -1, -1)  # (2, n, dimension)
        gathered = self.options.gather_negatives
        candidates = gather_with_gradient(views.transpose(0, 1)).transpose(0, 1) if gathered else views
        if candidates.shape[1] == 1 and not self.options.positive_in_denominator:
            raise EaseError(
                "Equation 1 as printed needs negatives: raise `batch_size` to two strings a process."
            )
        loss = mirrored_loss(
            views,
            self.options.temperature,
            candidates=candidates,
            own=own_rows(views.shape[1], views.device, gathered),
            positive_in_denominator=self.options.positive_in_denominator,
            mini_batch_size=inputs.mini_batch_size,
        )
        return {TOTAL: loss, "mirror_loss": loss}
