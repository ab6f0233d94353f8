"""Mirror-BERT (Liu et al. 2021): a string's positive is its second view under masking and dropout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, model_validator
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn import functional

from ease.errors import EaseError
from ease.methods.base import SENTENCE, TOTAL, Derive, Inputs, Reads, TrainingMethod, local_rows
from ease.methods.components.distributed import gather_with_gradient
from ease.methods.components.drophead import set_drophead, set_dropout
from ease.methods.components.losses import mean_over_rows, target_columns, unit
from ease.options import StrictModel

MASKED = "masked_sentence"
"""The column of augmented second views."""


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
    multi_similarity: bool = Field(
        False, description="the multi-similarity loss of mined triplets (footnote 2) in place of equation 1"
    )
    gather_negatives: bool = Field(
        False, description="use the candidates of all processes; not in the paper, no effect in a single process"
    )

    @property
    def changes_text(self) -> bool:
        """Whether one view's text is changed."""
        return self.augmentation != "span" or self.span > 0

    @model_validator(mode="after")
    def _share_between_equals(self) -> MirrorBertOptions:
        if self.controlled_dropout and self.changes_text:
            change = "`augmentation` changes"
            if self.augmentation == "span":
                change = f"`span` {self.span} masks"
            raise EaseError(
                f"`controlled_dropout` needs identical views, and {change} one of them: set `span: 0` and "
                "`augmentation: span`."
            )
        return self


class MirrorBert(TrainingMethod[MirrorBertOptions]):
    """Mirror-BERT; it sets the encoder's dropout and trains no parameters other than the encoder's."""

    Options = MirrorBertOptions

    @classmethod
    def reads(cls, options: MirrorBertOptions) -> Reads:
        """Return the views: with controlled dropout, both views are the same encoding."""
        if options.controlled_dropout:
            return Reads(views=(SENTENCE,))
        if options.changes_text:
            return Reads(views=(SENTENCE, MASKED))
        return Reads(views=(SENTENCE, SENTENCE))

    @classmethod
    def build(cls, options: MirrorBertOptions, encoder: SentenceTransformer, embeddings: Tensor | None) -> Self:
        """Set the encoder's dropout and DropHead.

        Raises:
            EaseError: If one view is masked and the encoder has no mask token, if DropHead does not support its
                architecture, or if it has no dropout layers.
        """
        masks = options.changes_text and options.augmentation != "order"
        if masks and getattr(encoder.tokenizer, "mask_token", None) is None:
            raise EaseError(
                f"Span masking needs a mask token, and the tokenizer {type(encoder.tokenizer).__name__} has none: set "
                "`span: 0`, or choose an encoder that was pretrained with one, such as BERT or XLM-R."
            )
        if options.dropout is not None:
            set_dropout(encoder, options.dropout)
        if options.drophead:
            set_drophead(encoder, options.drophead)
        return cls(options)

    def derived_columns(self, encoder: SentenceTransformer, seed: int) -> Mapping[str, Derive]:
        """Change each string, seeded by its row: later epochs and resumed training runs read the same strings."""
        if not self.options.changes_text:
            return {}
        return {MASKED: augmentation(self.options, encoder.tokenizer, seed)}

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Compute equation 1, or the multi-similarity loss, with both views of every string as anchors.

        Raises:
            EaseError: If the denominator is empty: a single string, without its positive.
        """
        options = self.options
        # With controlled dropout there is one encoding, which is both views.
        views = inputs.sentences.expand(2, -1, -1)  # (2, n, dimension)
        candidates = views
        if options.gather_negatives:
            # Rows of processes are joined along the first dimension, which must be that of the strings.
            candidates = gather_with_gradient(views.transpose(0, 1)).transpose(0, 1)
        targets = local_rows(views.shape[1], views.device, options.gather_negatives)
        if options.multi_similarity:
            loss = multi_similarity_loss(
                views, candidates=candidates, targets=targets, mini_batch_size=inputs.mini_batch_size
            )
            return {TOTAL: loss, "mirror_loss": loss}
        if candidates.shape[1] == 1 and not options.positive_in_denominator:
            raise EaseError(
                "Equation 1 as printed needs negatives: raise `batch_size` to at least two strings per process."
            )
        loss = mirrored_loss(
            views,
            options.temperature,
            candidates=candidates,
            targets=targets,
            positive_in_denominator=options.positive_in_denominator,
            mini_batch_size=inputs.mini_batch_size,
        )
        return {TOTAL: loss, "mirror_loss": loss}


def mirrored_loss(
    views: Tensor,
    temperature: float,
    *,
    candidates: Tensor | None = None,
    targets: Tensor | None = None,
    positive_in_denominator: bool = True,
    mini_batch_size: int | None = None,
) -> Tensor:
    """Mirror-BERT's loss: identify each view's other view among all 2n views of the batch.

    Args:
        views: Shape (2, n, d).
        temperature: τ, which divides the cosines.
        candidates: Both views of the candidates, shape (2, m, d). Default: `views`.
        targets: The candidate that is each string itself, shape (n,). Default: candidate i for string i.
        positive_in_denominator: As in the authors' released code; false: only the 2m - 2 negatives, as printed.
        mini_batch_size: Anchors whose logits are in memory at a time. Default: all.

    Returns:
        Scalar loss in nats, averaged over the 2n anchors; the equation has the sum.

    References:
        Liu et al. 2021 (Mirror-BERT), equation 1.
    """
    anchors, columns, itself, positive = _mirrored(views, candidates, targets)
    excluded = itself
    if not positive_in_denominator:
        excluded = torch.cat([itself, positive], dim=1)

    def summed(rows: slice) -> Tensor:
        logits = anchors[rows] @ columns.T / temperature  # (rows, 2m)
        negatives = logits.scatter(1, excluded[rows], -torch.inf)
        return (negatives.logsumexp(dim=1) - logits.gather(1, positive[rows]).squeeze(1)).sum()

    return mean_over_rows(summed, len(anchors), mini_batch_size)


def multi_similarity_loss(
    views: Tensor,
    *,
    candidates: Tensor | None = None,
    targets: Tensor | None = None,
    mini_batch_size: int | None = None,
    margin: float = 0.2,
    positive_scale: float = 1.0,
    negative_scale: float = 60.0,
    base: float = 0.5,
) -> Tensor:
    """Multi-similarity loss of the hard triplets of a batch (SapBERT; footnote 2 of Mirror-BERT).

    A negative is hard if its distance from the anchor, of vectors of length 1, is below that of the positive plus the
    margin. The positive counts if the anchor has a hard negative. Shapes and average are those of `mirrored_loss`. The
    scales are α and β, which multiply the cosines, and the base λ is subtracted from them; the defaults are those of
    SapBERT's released code.

    References:
        Wang et al. 2019 (multi-similarity loss); Liu et al. 2021 (SapBERT), section 2.
    """
    anchors, columns, itself, positive = _mirrored(views, candidates, targets)
    excluded = torch.cat([itself, positive], dim=1)

    def distances(cosines: Tensor) -> Tensor:
        return (2 - 2 * cosines).clamp(min=0).sqrt()

    def summed(rows: slice) -> Tensor:
        cosines = anchors[rows] @ columns.T  # (rows, 2m)
        positive_cosines = cosines.gather(1, positive[rows])  # (rows, 1)
        with torch.no_grad():
            hard = distances(cosines) <= distances(positive_cosines) + margin
            hard = hard.scatter(1, excluded[rows], False)
        pushed = (negative_scale * (cosines - base)).masked_fill(~hard, -torch.inf)
        # A column of zeros adds the 1 of log(1 + Σ), and keeps rows without a hard negative finite.
        with_one = torch.cat([torch.zeros_like(positive_cosines), pushed], dim=1)
        repelled = with_one.logsumexp(dim=1) / negative_scale
        pulled = functional.softplus(positive_scale * (base - positive_cosines)) / positive_scale
        return (repelled + pulled.squeeze(1) * hard.any(dim=1)).sum()

    return mean_over_rows(summed, len(anchors), mini_batch_size)


def _mirrored(
    views: Tensor, candidates: Tensor | None, targets: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the anchors, (2n, d), all columns, (2m, d), and each anchor's own and its positive's column, (2n, 1)."""
    if candidates is None:
        candidates = views
    first_columns = target_columns(views[0], targets)
    # Flattened, all first views come before all second views.
    second_columns = first_columns + candidates.shape[1]
    itself = torch.cat([first_columns, second_columns]).unsqueeze(1)
    positive = torch.cat([second_columns, first_columns]).unsqueeze(1)
    return unit(views.flatten(0, 1)), unit(candidates.flatten(0, 1)), itself, positive


def mask_span(text: str, start: int, length: int, token: str) -> str:
    """Replace `length` characters from `start` by the mask token, separated by spaces."""
    left = text[:start]
    right = text[start + length :]
    if left and not left[-1].isspace():
        left += " "
    if right and not right[0].isspace():
        right = f" {right}"
    return f"{left}{token}{right}"


def augment(text: str, random: np.random.Generator, options: MirrorBertOptions, tokenizer: Any) -> str | None:
    """Change a string by random numbers; None if it has a single word or token.

    - span: mask one span of characters that starts at any place (section 2.2).
    - words, tokens: mask a share of the words, which are separated by white space, or of the tokens in the text, whose
      remainder is tokenized again.
    - order: move each word of a share, at least two, to the place of the next one.
    """
    mask_token = getattr(tokenizer, "mask_token", "")
    if options.augmentation == "span":
        start = int(random.integers(len(text) - options.span + 1))
        return mask_span(text, start, options.span, mask_token)
    if options.augmentation == "tokens":
        encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, truncation=False)
        spans = [(start, end) for start, end in encoded["offset_mapping"] if end > start]
        places = _draw_places(len(spans), 1, random, options)
        # From the end, so that the offsets of earlier tokens stay right.
        for start, end in sorted((spans[place] for place in places), reverse=True):
            text = mask_span(text, start, end - start, mask_token)
        return text if len(places) else None
    words = text.split()
    changed = list(words)
    if options.augmentation == "order":
        places = _draw_places(len(words), 2, random, options)
        changed_places = zip(places, np.roll(places, 1), strict=True)
        for source, target in changed_places:
            changed[target] = words[source]
    else:
        places = _draw_places(len(words), 1, random, options)
        for place in places:
            changed[place] = mask_token
    return " ".join(changed) if len(places) else None


def _draw_places(count: int, fewest: int, random: np.random.Generator, options: MirrorBertOptions) -> NDArray[np.int64]:
    """Draw the share of `count` words or tokens to change; none if nothing would stay unchanged."""
    if count < 2:
        return np.empty(0, np.int64)
    size = max(fewest, round(options.share * count))
    return random.choice(count, min(count, size), replace=False)


def augmentation(options: MirrorBertOptions, tokenizer: Any, seed: int) -> Derive:
    """Return a function that changes texts by the seed and their row numbers; too short ones stay as they are."""
    shortest = options.shortest_masked
    if options.augmentation == "span":
        # A character must be left.
        shortest = max(shortest, options.span + 1)

    def change(text: str, row: int) -> str:
        if len(text) < shortest:
            return text
        # A generator for each row: its change does not depend on the rows before it.
        changed = augment(text, np.random.default_rng([seed, row]), options, tokenizer)
        if changed is None:
            return text
        return changed

    return lambda texts, rows: [change(text, int(row)) for text, row in zip(texts, rows, strict=True)]
