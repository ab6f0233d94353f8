"""Mirror-BERT (Liu et al. 2021, equation 1): a string's positive is its second view under masking and dropout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator
from sentence_transformers import SentenceTransformer
from torch import Tensor

from ease.errors import EaseError
from ease.io.models import StrictModel
from ease.methods.base import SENTENCE, TOTAL, Derive, Inputs, TrainingMethod, own_rows
from ease.methods.components.augmentation import (
    mask_token,
    span_masking,
    token_masking,
    word_masking,
    word_order,
)
from ease.methods.components.distributed import gather_with_gradient
from ease.methods.components.drophead import set_drophead, set_dropout
from ease.methods.components.mirror_losses import MultiSimilarity, mirrored_loss, multi_similarity_loss

MASKED = "masked_sentence"
"""The column of augmented second views."""

SPAN, ORDER = "span", "order"


class MirrorBertOptions(StrictModel):
    """Parameters of Mirror-BERT; the defaults are the paper's for sentences (section 3)."""

    temperature: float = Field(0.04, gt=0, description="τ of equation 1, dividing the cosine; 0.2 for words")
    span: int = Field(
        5, ge=0, description="k, the characters masked in one view; 2 for phrases, 0 for words: no masking"
    )
    shortest_masked: int = Field(
        30, ge=1, description="characters of the shortest masked string; 30 in the authors' released code"
    )
    augmentation: Literal["span", "words", "tokens", "order"] = Field(
        "span",
        description="what changes in one view: span: `span` characters are masked; words, tokens: a share of whole "
        "words or of tokens is masked; order: words change their places (footnote 13)",
    )
    share: float = Field(
        0.15,
        gt=0,
        le=1,
        description="share of words or tokens that `augmentation` changes, unless it is span; not in the paper",
    )
    dropout: float | None = Field(0.1, ge=0, lt=1, description="the encoder's dropout; null: unchanged")
    drophead: float = Field(0.0, ge=0, lt=1, description="probability of dropping an attention head")
    controlled_dropout: bool = Field(
        False, description="use the same dropout mask for both views, as in Table 8; needs `span: 0`"
    )
    positive_in_denominator: bool = Field(
        True, description="as in the authors' released code; false: equation 1 as printed"
    )
    multi_similarity: MultiSimilarity | None = Field(
        None,
        description="mine hard triplets for the multi-similarity loss (footnote 2): `{}` for its defaults; "
        "null: equation 1",
    )
    gather_negatives: bool = Field(
        False,
        description="use the candidates of all processes; not in the paper, no effect in a single process",
    )

    @property
    def changes_text(self) -> bool:
        """Whether one view's text is changed."""
        return self.augmentation != SPAN or self.span > 0

    @property
    def masks(self) -> bool:
        """Whether the changed text has mask tokens."""
        return self.changes_text and self.augmentation != ORDER

    @model_validator(mode="after")
    def _share_between_equals(self) -> MirrorBertOptions:
        if self.controlled_dropout and self.changes_text:
            changed = f"`span` {self.span} masks" if self.augmentation == SPAN else "`augmentation` changes"
            raise EaseError(
                f"`controlled_dropout` needs identical views, and {changed} one of them: set `span: 0` and "
                "`augmentation: span`."
            )
        return self


class MirrorBert(TrainingMethod[MirrorBertOptions]):
    """Mirror-BERT; it sets the encoder's dropout and trains no parameters other than the encoder's."""

    Options = MirrorBertOptions
    title = "Mirror-BERT"
    summary = (
        "Mirror-BERT pulls a string towards its second encoding, under another dropout mask and with a span of "
        "characters masked; both encodings of all other strings are negatives."
    )

    def __init__(self, options: MirrorBertOptions) -> None:
        """Choose the views: with controlled dropout, both views are the same encoding."""
        super().__init__(options)
        self.views = (
            (SENTENCE,)
            if options.controlled_dropout
            else (SENTENCE, MASKED if options.changes_text else SENTENCE)
        )

    @classmethod
    def build(
        cls, options: MirrorBertOptions, encoder: SentenceTransformer, embeddings: Tensor | None
    ) -> Self:
        """Set the encoder's dropout and DropHead.

        Raises:
            EaseError: If one view is masked and the encoder has no mask token, if DropHead does not support its
                architecture, or if it has no dropout layers.
        """
        if options.masks:
            mask_token(encoder)
        if options.dropout is not None:
            set_dropout(encoder, options.dropout)
        if options.drophead:
            set_drophead(encoder, options.drophead)
        return cls(options)

    def derived_columns(self, encoder: SentenceTransformer, seed: int) -> Mapping[str, Derive]:
        """Change each string, seeded by its row, so that later epochs and resumed trainings read the same strings."""
        options = self.options
        if not options.changes_text:
            return {}
        shared = {"shortest": options.shortest_masked, "seed": seed}
        if options.augmentation == ORDER:
            return {MASKED: word_order(options.share, **shared)}
        if options.augmentation == "tokens":
            return {MASKED: token_masking(options.share, tokenizer=encoder.tokenizer, **shared)}
        token = mask_token(encoder)
        if options.augmentation == "words":
            return {MASKED: word_masking(options.share, token=token, **shared)}
        return {MASKED: span_masking(options.span, token=token, **shared)}

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Compute equation 1, or the multi-similarity loss, with both views of every string as anchors.

        Raises:
            EaseError: If the denominator is empty: a single string, without its positive.
        """
        views = inputs.sentences.expand(2, -1, -1)  # (2, n, dimension)
        gathered = self.options.gather_negatives
        candidates = gather_with_gradient(views.transpose(0, 1)).transpose(0, 1) if gathered else views
        own = own_rows(views.shape[1], views.device, gathered)
        if (mined := self.options.multi_similarity) is not None:
            loss = multi_similarity_loss(
                views, mined, candidates=candidates, own=own, mini_batch_size=inputs.mini_batch_size
            )
            return {TOTAL: loss, "mirror_loss": loss}
        if candidates.shape[1] == 1 and not self.options.positive_in_denominator:
            raise EaseError(
                "Equation 1 as printed needs negatives: raise `batch_size` to at least two strings per process."
            )
        loss = mirrored_loss(
            views,
            self.options.temperature,
            candidates=candidates,
            own=own,
            positive_in_denominator=self.options.positive_in_denominator,
            mini_batch_size=inputs.mini_batch_size,
        )
        return {TOTAL: loss, "mirror_loss": loss}
