"""DuEAM (Goswami et al. 2021): match embedding distances to Word Mover's Distances by a frozen anchor encoder."""

from __future__ import annotations

import copy
from typing import Any, Self

import torch
from ot import emd2
from ot.batch import solve_batch
from pydantic import Field, model_validator
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor
from torch.nn import functional

from ease.encoders.encoder import load_encoder
from ease.errors import EaseError
from ease.methods.base import POSITIVE, SENTENCE, TOTAL, Inputs, Reads, Texts, TrainingMethod
from ease.options import StrictModel

ITERATIONS = 1_000_000
"""Maximum iterations of the network simplex, far more than two sentences need"""

TOLERANCE = 1e-3
"""Residual mass at which Sinkhorn's algorithm stops; its error is below that of the regularisation"""


class DueamOptions(StrictModel):
    """Parameters of DuEAM; the defaults are the paper's."""

    semantic_weight: float = Field(
        1.0, ge=0, description="of equation 1 in the joint loss; 0: equation 2 alone, without an anchor (Figure 2)"
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
            raise EaseError("`semantic_weight` and `translation_weight` are both 0: give one of them a weight.")
        return self


class Dueam(TrainingMethod[DueamOptions]):
    """DuEAM; the encoder is the learner, and no other parameters are trained."""

    Options = DueamOptions

    def __init__(self, options: DueamOptions, anchor: Anchor | None) -> None:
        super().__init__(options)
        self.anchor = anchor

    @classmethod
    def reads(cls, options: DueamOptions) -> Reads:
        """Return both sentences of a pair, as embeddings of the learner and as tokens of the anchor."""
        pair = (SENTENCE, POSITIVE)
        return Reads(views=pair, required=pair, token_columns=pair)

    @classmethod
    def build(cls, options: DueamOptions, encoder: SentenceTransformer, embeddings: Tensor | None) -> Self:
        """Load and freeze the anchor, which only equation 1 needs.

        Raises:
            EaseError: If the encoder or the anchor does not begin with a transformer, or their tokenizers differ.
        """
        if not options.semantic_weight:
            return cls(options, None)
        if options.anchor is None:
            return cls(options, Anchor(encoder, "the encoder"))
        anchor = load_encoder(options.anchor)
        # The anchor reads the token ids of the learner's tokenizer.
        if _vocabulary(anchor) != _vocabulary(encoder):
            raise EaseError(
                f"`anchor` {options.anchor!r} has another tokenizer than the encoder, and both read the same tokens: "
                "choose an anchor made from the same pre-trained model, or null for a copy of the encoder."
            )
        return cls(options, Anchor(anchor, f"`anchor` {options.anchor!r}"))

    def forward(self, inputs: Inputs) -> dict[str, Tensor]:
        """Compute L = LA - λ LB (section 3.3), its terms, and the mean distances of sentences and of words."""
        options = self.options
        first, second = inputs.sentences
        mining = functional.cosine_similarity(first, second, dim=1).mean()  # equation 2, LB, to be maximised
        total = -options.translation_weight * mining
        if self.anchor is None:
            return {TOTAL: total, "translation_mining": mining}
        first_texts = inputs.texts[SENTENCE]
        second_texts = inputs.texts[POSITIVE]
        first_tokens = self.anchor.embed(first_texts, inputs.autocast)
        second_tokens = self.anchor.embed(second_texts, inputs.autocast)
        if options.unit_length:
            first_tokens = functional.normalize(first_tokens, dim=2)
            second_tokens = functional.normalize(second_tokens, dim=2)
            first = functional.normalize(first, dim=1)
            second = functional.normalize(second, dim=1)
        first_words = self.anchor.words(first_texts)
        second_words = self.anchor.words(second_texts)
        distances = word_movers_distances(
            first_tokens, second_tokens, first_words, second_words, options.regularization
        )
        euclidean = euclidean_distances(first, second)
        semantic = semantic_loss(euclidean, distances.to(euclidean.dtype))
        return {
            TOTAL: options.semantic_weight * semantic + total,
            "translation_mining": mining,
            "semantic_loss": semantic,
            # Distances are reported because equation 1 ignores large ones: their exp(-d) is 0.
            "sentence_distance": euclidean.detach().mean(),
            "words_distance": distances.mean(),
        }


class Anchor:
    """A frozen copy of an encoder's transformer, which embeds tokens.

    It is not a torch module, so it is neither trained nor saved, and always in evaluation mode.
    """

    def __init__(self, encoder: SentenceTransformer, name: str) -> None:
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
        """Return the last layer's token embeddings, (n, width, dimension), at least in single precision."""
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


def _special_tokens(encoder: SentenceTransformer) -> list[int]:
    """Return the ids of special tokens, without the unknown token, which represents a word."""
    tokenizer: Any = encoder.tokenizer
    return sorted(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id})


def _vocabulary(encoder: SentenceTransformer) -> tuple[dict[str, int], list[int]]:
    tokenizer: Any = encoder.tokenizer
    return tokenizer.get_vocab(), _special_tokens(encoder)


def euclidean_distances(first: Tensor, second: Tensor) -> Tensor:
    """Return the distance of each pair, (n, dimension) twice -> (n,); the gradient at distance 0 is 0."""
    return torch.linalg.vector_norm(first - second, dim=1)


def semantic_loss(euclidean: Tensor, moved: Tensor) -> Tensor:
    """Compute equation 1, LA, between 1 and e: the mean of `exp |exp(-d) - exp(-w)|` over the pairs.

    Args:
        euclidean: d, the distances of the learner's sentence embeddings, (n,).
        moved: w, the Word Mover's Distances of the sentences' tokens, (n,).
    """
    return ((-euclidean).exp() - (-moved).exp()).abs().exp().mean()


def word_movers_distances(
    first: Tensor, second: Tensor, first_mask: Tensor, second_mask: Tensor, regularization: float | None = None
) -> Tensor:
    """Return the Word Mover's Distance of each pair of sentences (Kusner et al. 2015, equation 1), without gradients.

    Tokens have equal weights; the ground distance is Euclidean.

    Args:
        first: (n, width, dimension), token embeddings of the first sentences.
        second: (n, other width, dimension), token embeddings of the second sentences.
        first_mask: (n, width), 1 or true for the tokens to compare.
        second_mask: (n, other width), likewise.
        regularization: ε of Sinkhorn's algorithm (Cuturi 2013) relative to the pair's mean ground distance, on the
            device of the embeddings; the result is never below the exact distance. None: exact, by POT's network
            simplex on the CPU, pair by pair in double precision.

    Returns:
        (n,), in single precision or better.

    Raises:
        EaseError: If a sentence has no token or an embedding is not finite.
    """
    moved = first_mask.bool()
    reached = second_mask.bool()
    if not (moved.any(dim=1) & reached.any(dim=1)).all():
        raise EaseError(
            "Word Mover's Distance of a sentence without tokens: remove texts that are empty, or that the tokenizer "
            "drops completely, from the training texts."
        )
    dtype = torch.promote_types(first.dtype, torch.float32)
    with torch.no_grad():
        # Computed by differences: with matrix products, the distance of a token to itself is not 0.
        ground = torch.cdist(first.to(dtype), second.to(dtype), compute_mode="donot_use_mm_for_euclid_dist")
        ground = ground.masked_fill(~(moved.unsqueeze(2) & reached.unsqueeze(1)), 0)
        if not ground.isfinite().all():  # (n, width, other width)
            raise EaseError("The token embeddings are not finite: the weights of the anchor are broken.")
        if regularization is not None:
            return _entropic(ground, moved, reached, regularization)
        pairs = zip(ground.double().cpu().numpy(), moved.cpu().numpy(), reached.cpu().numpy(), strict=True)
        # Centred duals and checked marginals take time, and the costs do not depend on them.
        exact = {"numItermax": ITERATIONS, "center_dual": False, "check_marginals": False}
        # Empty weights are uniform in POT.
        costs = [emd2([], [], cost[rows][:, columns], **exact) for cost, rows, columns in pairs]
        return torch.tensor(costs, dtype=ground.dtype, device=ground.device)


def _entropic(ground: Tensor, moved: Tensor, reached: Tensor, regularization: float) -> Tensor:
    """Solve all pairs at once; excluded tokens have weight 0."""
    weights = moved.to(ground.dtype) / moved.sum(dim=1, keepdim=True)
    other_weights = reached.to(ground.dtype) / reached.sum(dim=1, keepdim=True)
    mean = torch.einsum("nij,ni,nj->n", ground, weights, other_weights)
    unit = torch.where(mean > 0, mean, 1)  # equal sentences of one token
    # ε is relative to the mean distance, whose scale differs between encoders and pairs.
    costs = ground / unit[:, None, None]
    # In the logarithmic domain: exp(-cost / ε) underflows for a small ε.
    solution = solve_batch(
        costs, regularization, weights, other_weights, tol=TOLERANCE, method="log_sinkhorn", grad="detach"
    )
    distances: Tensor = solution.value_linear * unit
    return distances
