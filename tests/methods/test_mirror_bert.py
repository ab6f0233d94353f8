"""Mirror-BERT: its losses against loops, its views, its dropout, changed texts, and wrong input."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import nn

from ease.encoders.encoder import load_encoder
from ease.errors import EaseError
from ease.methods import get_method, method_options
from ease.methods.base import TOTAL
from ease.methods.mirror_bert import MirrorBertOptions, augmentation, mask_span, mirrored_loss, multi_similarity_loss
from ease.training.model import TrainingModel
from tests.encoders.tiny import tiny_encoder
from tests.methods.made import build, cosines, floats, inputs, without_mask_token
from tests.training.gradients import batch_of

Loss = Callable[[np.ndarray], float]


def printed_loss(temperature: float, with_positive: bool) -> Loss:
    """Return equation 1 with loops over the views, (2, n, d)."""

    def compute(views: np.ndarray) -> float:
        count = views.shape[1]
        terms = np.exp(cosines(*[views.reshape(2 * count, -1)] * 2) / temperature)
        total = 0.0
        for place in range(2 * count):
            other = (place + count) % (2 * count)
            skipped = {place} if with_positive else {place, other}
            kept = [terms[place, column] for column in range(2 * count) if column not in skipped]
            total -= math.log(terms[place, other] / sum(kept))
        return total / (2 * count)

    return compute


def mined_loss(margin: float, alpha: float, beta: float, base: float) -> Loss:
    """Return the multi-similarity loss of hard triplets with loops over distances and cosines."""

    def compute(views: np.ndarray) -> float:
        count, total = views.shape[1], 0.0
        rows = views.reshape(2 * count, -1) / np.linalg.norm(views.reshape(2 * count, -1), axis=1)[:, None]
        for place in range(2 * count):
            other = (place + count) % (2 * count)
            reach, near = math.dist(rows[place], rows[other]) + margin, rows[place] @ rows[other]
            rest = [row for column, row in enumerate(rows) if column not in (place, other)]
            hard = [rows[place] @ row for row in rest if math.dist(rows[place], row) <= reach]
            if hard:
                total += math.log(1 + math.exp(-alpha * (near - base))) / alpha
                total += math.log(1 + sum(math.exp(beta * (cosine - base)) for cosine in hard)) / beta
        return total / (2 * count)

    return compute


@pytest.mark.parametrize(("margin", "size"), [(0.0, None), (0.2, 3), (5.0, None)])
def test_the_multi_similarity_loss_is_that_of_mined_triplets(margin: float, size: int | None) -> None:
    at = np.random.default_rng(3).normal(size=(2, 5, 3))
    at[1] = at[0] + 0.3 * at[1]  # positives are near, and some anchors have no hard negative
    views = torch.tensor(at, requires_grad=True)
    options = {"margin": margin, "positive_scale": 2.0, "negative_scale": 10.0, "base": 0.4}
    loss = partial(multi_similarity_loss, mini_batch_size=size, **options)
    assert loss(views).item() == pytest.approx(mined_loss(margin, 2, 10, 0.4)(at), abs=1e-9)
    assert torch.autograd.gradcheck(loss, views)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, printed_loss(0.04, True)),
        ({"temperature": 0.2, "positive_in_denominator": False}, printed_loss(0.2, False)),
        ({"multi_similarity": True}, mined_loss(0.2, 1, 60, 0.5)),  # SapBERT's parameters
    ],
)
def test_the_options_choose_the_loss(options: dict[str, Any], expected: Loss) -> None:
    views = floats(1, 2, 4, 6)
    found = build("mirror_bert", **options)(inputs(views))[TOTAL].item()
    assert found == pytest.approx(expected(views.double().numpy()), rel=1e-4)


def test_options_and_encoders_that_do_not_fit_are_refused() -> None:
    with pytest.raises(EaseError, match="`controlled_dropout` needs identical views.*set `span: 0`"):
        build("mirror_bert", controlled_dropout=True)
    single = inputs(floats(1, 2, 1, 6))
    with pytest.raises(EaseError, match="needs negatives: raise `batch_size`"):
        build("mirror_bert", positive_in_denominator=False)(single)
    start = without_mask_token()
    with pytest.raises(EaseError, match="has none: set `span: 0`"):
        build("mirror_bert", start)
    build("mirror_bert", start, augmentation="order")


def test_controlled_dropout_is_two_encodings_under_the_same_masks(files: Path, tmp_path: Path) -> None:
    options = {"span": 0, "dropout": 0.3, "drophead": 0.3, "controlled_dropout": True}
    start = load_encoder(str(files / "encoder"))
    method = get_method("mirror_bert").build(method_options("mirror_bert", options), start, None)
    model = TrainingModel(start, nn.Identity(), method).train()
    batch = batch_of(model, files / "pairs.parquet", tmp_path / "pairs.bin", rows=slice(None, None, 5))
    parameters = [weights for weights in model.parameters() if weights.requires_grad]
    torch.manual_seed(3)
    loss = model(batch)[TOTAL]
    gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
    encoded = []
    for _ in range(2):  # every string a second time, with the draws of the first
        torch.manual_seed(3)
        encoded.append(model.encode(batch).sentences[0])
    assert torch.equal(*encoded)
    expected = mirrored_loss(torch.stack(encoded), 0.04)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    twice = torch.autograd.grad(expected, parameters, allow_unused=True)
    torch.testing.assert_close(gradients, twice, rtol=1e-4, atol=1e-6)


SENTENCE_TEXT = "Economist Paul Krugman mainly works on trade models."


def changing(kind: str, shortest: int = 1, tokenizer: Any = None, **values: Any) -> Any:
    """The augmentation of a kind, with `_` as the mask token by default."""
    options = MirrorBertOptions(augmentation=kind, shortest_masked=shortest, **values)
    return augmentation(options, tokenizer or SimpleNamespace(mask_token="_"), 1)


def spans(text: str, masked: str, length: int, token: str) -> list[int]:
    """Return the possible starts of a masked span, given that the rest of the text is unchanged."""
    before, after = masked.split(token)
    return [
        start
        for start in range(len(text) - length + 1)
        if before in (text[:start], text[:start] + " ")
        and after in (text[start + length :], " " + text[start + length :])
    ]


def test_masking_keeps_everything_outside_the_span() -> None:
    for text in (SENTENCE_TEXT, "東京は日本の首都であり", "a  b\tc" * 8):
        for start in range(len(text) - 4):
            assert start in spans(text, mask_span(text, start, 5, "<mask>"), 5, "<mask>")


def test_every_place_is_as_likely_the_last_one_too() -> None:
    text, words, found = "".join(map(chr, range(65, 95))), SENTENCE_TEXT.split(), Counter[int]()
    for masked in changing("span")([text] * 6000, np.arange(6000)):
        found.update(spans(text, masked, 5, "_"))
    assert sorted(found) == list(range(26))
    places = Counter[int]()  # eight words, of which round(2.4) are masked
    for masked in changing("words", share=0.3)([SENTENCE_TEXT] * 2000, np.arange(2000)):
        differs = [one for one, other in zip(masked.split(), words, strict=True) if one != other]
        assert differs == ["_"] * 2
        places.update(place for place, one in enumerate(masked.split()) if one == "_")
    assert sorted(places) == list(range(8))
    assert chisquare(list(found.values())).pvalue > 1e-3
    assert chisquare(list(places.values())).pvalue > 1e-3


@pytest.mark.parametrize(
    ("text", "shortest", "kept"),
    [
        ("sizes", 1, True),  # nothing would be left
        ("seldom", 1, False),  # one token, of which a letter is left
        ("x" * 29, 30, True),
        ("x" * 30, 30, False),
    ],
)
def test_short_texts_keep_their_characters(text: str, shortest: int, kept: bool) -> None:
    masked = changing("span", shortest)([text, SENTENCE_TEXT], np.arange(2))
    assert ["_" in one for one in masked] == [not kept, True]
    assert (masked[0] == text) == kept


def test_tokens_are_masked_in_the_text_by_the_encoder_s_own_mask_token() -> None:
    tokenizer = tiny_encoder([SENTENCE_TEXT] * 5, vocabulary_size=400).tokenizer
    tokenizer.add_special_tokens({"mask_token": "<mask>"})
    share = round(0.2 * len(tokenizer.tokenize(SENTENCE_TEXT)))
    for masked in changing("tokens", tokenizer=tokenizer, share=0.2)([SENTENCE_TEXT] * 50, np.arange(50)):
        assert tokenizer(masked)["input_ids"].count(tokenizer.mask_token_id) == share
        place = 0
        for part in masked.split("<mask>"):  # the rest of the text, in its order
            assert (place := SENTENCE_TEXT.find(part.strip(), place)) >= 0


def test_words_change_their_places_and_stay_the_same_words() -> None:
    words = SENTENCE_TEXT.split()
    for moved in changing("order", share=0.5)([SENTENCE_TEXT] * 200, np.arange(200)):
        assert sorted(moved.split()) == sorted(words)
        assert sum(one != other for one, other in zip(moved.split(), words, strict=True)) == 4
