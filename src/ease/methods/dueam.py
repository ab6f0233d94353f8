"""DuEAM (Goswami et al. 2021): match embedding distances to Word Mover's Distances by a frozen anchor encoder."""

from __future__ import annotations

import copy
from typing import Any, Self

import torch
from pydantic import Field, model_validator
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor
from torch.nn import functional

from ease.encoders.encoder import load_encoder
from ease.errors import EaseError
from ease.io.models import StrictModel
from ease.methods.base import SENTENCE, TOTAL, Inputs, Texts, TrainingMethod
from ease.methods.components.word_movers_distance import word_movers_distances

POSITIVE = "positive"


class DueamOptions(StrictModel):
    """Parameters of DuEAM; the defaults are the paper's."""

    semantic_weight: float = Field(
        1.0,
        ge=0,
        description="of equation 1 in the joint loss; 0: equation 2 alone, without an anchor (Figure 2)",
    )
    translation_weight: float = Field(
        0.003, ge=0, description="λ, of equation 2 in the joint loss; 0: equation 1 alone (Figure 2)"
    )
    anchor: str | None = Field(
        None,
        min_length=1,
        description="the frozen encoder, a hub name or folder with the same tokenizer; null: a copy of the encoder "
        "before training",
    )
    regularization: float | None = Field(
        None,
        gt=0,
        description="ε of entropic transport, relative to the mean distance of a pair's tokens; null: exact transport",
    )
    unit_length: bool = Field(
        False,
        description="normalise token and sentence embeddings before computing distances: for encoders whose distances "
        "are so large that both exponentials of equation 1 vanish, or that differ in scale",
    )

    @model_validator(mode="after")
    def _some_term(self) -> DueamOptions:
        if not self.semantic_weight and not self.translation_weight:
            raise EaseError(
                "`semantic_weight` and `translation_weight` are both 0: give one of the two terms a weight."
            )
        return self


class Dueam(TrainingMethod[DueamOptions]):
    """DuEAM; the encoder is the learner, and no other parameters are trained."""

    Options = DueamOptions
    matryoshka = False
    title = "DuEAM"
    summary = (
        "DuEAM matches the Euclidean distance of two sentences to the Word Mover's Distance of their tokens in a "
        "frozen encoder, and slightly raises their cosine."
    )
    views = (SENTENCE, POSITIVE)
    required = (SENTENCE, POSITIVE)
    token_columns = (SENTENCE, POSITIVE)

    def __init__(self, options: DueamOptions, anchor: Anchor | None) -> None:
        """Keep the anchor, which only equation 1 needs, without registering it as a submodule."""
        super().__init__(options)
        self.anchor = anchor

    @classmethod
    def build(cls, options: DueamOptions, encoder: SentenceTransformer, embeddings: Tensor | None) -> Self:
        """Load and freeze the anchor.

        Raises:
            EaseError: If the encoder or the anchor does not begin with a transformer, or their tokenizers differ.
        """
        if not options.semantic_weight:
            return cls(options, None)
        if options.anchor is None:
            return cls(options, Anchor(encoder, "the encoder"))
        other = load_encoder(options.anchor)
        if _vocabulary(other) != _vocabulary(encoder):
            raise EaseError(
                f"`anchor` {options.anchor!r} has another tokenizer than the encoder, and both read the same tokens: "
                "choose an anchor made from the same pre-trained model, or null for a copy of the encoder."
            )
        return cls(options, Anchor(other, f"`anchor` {options.anchor!r}"))

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Compute L = LA - λ LB (section 3.3) and its terms."""
        first, second = inputs.sentences
        mining = translation_mining(first, second)
        terms = {"translation_mining": mining}
        total = -self.options.translation_weight * mining
        if self.anchor is not None:
            semantic = self._semantic_terms(inputs, self.anchor)
            total = self.options.semantic_weight * semantic["semantic_loss"] + total
            terms |= semantic
        return {TOTAL: total, **terms}

    def _semantic_terms(self, inputs: Inputs, anchor: Anchor) -> dict[str, Tensor]:
        """Compute LA, and the mean distances of sentences and of words."""
        first, second = inputs.sentences
        texts = [inputs.texts[SENTENCE], inputs.texts[POSITIVE]]
        tokens, others = (anchor.embed(one, inputs.autocast) for one in texts)
        if self.options.unit_length:
            tokens, others = (functional.normalize(embedded, dim=2) for embedded in (tokens, others))
        words, other_words = (anchor.words(one) for one in texts)
        distances = word_movers_distances(tokens, others, words, other_words, self.options.regularization)
        if self.options.unit_length:
            first, second = (functional.normalize(sentences, dim=1) for sentences in (first, second))
        euclidean = euclidean_distances(first, second)
        semantic = semantic_loss(euclidean, distances.to(euclidean.dtype))
        # Distances are reported because equation 1 ignores large ones: their exp(-d) is 0.
        reported = {"sentence_distance": euclidean.detach().mean(), "words_distance": distances.mean()}
        return {"semantic_loss": semantic, **reported}


class Anchor:
    """A frozen transformer that embeds tokens.

    It is not a torch module, so it is neither trained nor saved, and always in evaluation mode.
    """

    def __init__(self, encoder: SentenceTransformer, name: str) -> None:
        """Copy the transformer of an encoder, whose name is for messages.

        Raises:
            EaseError: If the encoder does not begin with a transformer.
        """
        transformer = encoder[0]
        if not isinstance(transformer, Transformer):
            raise EaseError(
                f"DuEAM needs a transformer, and {name} begins with {type(transformer).__name__}: choose another."
            )
        self._name = name
        self._longest = encoder.max_seq_length
        self._special = _special_tokens(encoder)
        self._model = copy.deepcopy(transformer.model).eval().requires_grad_(False)

    def embed(self, texts: Texts, autocast: torch.dtype | None = None) -> Tensor:
        """Return the last layer's token embeddings, (n, width, dimension), at least in single precision.

        Raises:
            EaseError: If a text has more tokens than the transformer accepts.
        """
        tokens, mask = texts
        if self._longest is not None and tokens.shape[1] > self._longest:
            raise EaseError(
                f"{self._name} accepts {self._longest} tokens and a text has {tokens.shape[1]}: lower `max_tokens`."
            )
        model = self._model.to(tokens.device)
        with torch.no_grad(), torch.autocast(tokens.device.type, autocast, autocast is not None):
            states: Tensor = model(input_ids=tokens, attention_mask=mask).last_hidden_state
        return states.to(torch.promote_types(states.dtype, torch.float32))

    def words(self, texts: Texts) -> Tensor:
        """Mark the tokens of words, unknown ones included: neither padding nor special, (n, width)."""
        special = torch.tensor(self._special, device=texts.tokens.device)
        return texts.mask.bool() & ~torch.isin(texts.tokens, special)


def euclidean_distances(first: Tensor, second: Tensor) -> Tensor:
    """Return the distance of each pair, (n, dimension) twice -> (n,); the gradient at distance 0 is 0."""
    return torch.linalg.vector_norm(first - second, dim=1)


def semantic_loss(euclidean: Tensor, moved: Tensor) -> Tensor:
    """Compute equation 1, LA: the difference between exp(-d) of both distances.

    Args:
        euclidean: (n,), distances of the learner's sentence embeddings.
        moved: (n,), Word Mover's Distances of the sentences' tokens.

    Returns:
        A scalar between 1 and e.
    """
    return ((-euclidean).exp() - (-moved).exp()).abs().exp().mean()


def translation_mining(first: Tensor, second: Tensor) -> Tensor:
    """Compute equation 2, LB: the mean cosine of the pairs, to be maximised; (n, dimension) twice -> ()."""
    return functional.cosine_similarity(first, second, dim=1).mean()


def _special_tokens(encoder: SentenceTransformer) -> list[int]:
    """Return the ids of special tokens, without the unknown token, which represents a word."""
    tokenizer: Any = encoder.tokenizer
    return sorted(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id})


def _vocabulary(encoder: SentenceTransformer) -> tuple[dict[str, int], list[int]]:
    tokenizer: Any = encoder.tokenizer
    return tokenizer.get_vocab(), _special_tokens(encoder)
