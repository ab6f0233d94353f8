"""SimCSE, supervised SimCSE and mSimCSE: losses against NumPy, and batches with rows of every kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from scipy.special import logsumexp
from torch import Tensor, nn

from ease.encoders.encoder import load_encoder
from ease.methods import get_method, method_options
from ease.methods.base import TOTAL
from ease.training.model import TrainingModel
from tests.methods.made import ENTITIES, build, cosines, floats, inputs, self_loss
from tests.training.gradients import batch_of

PRESENT = torch.tensor([[True] * 4, [True] * 4, [True, False, True, False]])
MIXED: dict[str, Any] = {
    "sentence": ["Berlin is a large city", "Roma", "people like Oslo", "Ankara"],
    "positive": ["people like Berlin", None, "東京は大きな都市で、川がある", None],
    "negative": ["people like Oslo", None, None, "people like Париж"],
}
"""A triplet, a sentence only, a translation pair, and a sentence with only a negative."""


def supervised_loss(texts: Tensor, temperature: float, present: list[bool], weight: float = 0.0) -> float:
    """Equation 5 of anchors, positives and negatives, (3, n, dimension)."""
    anchors, positives, negatives = texts
    own = cosines(anchors, positives) / temperature
    others = cosines(anchors, negatives) / temperature + weight * np.eye(len(anchors))
    logits = np.hstack([own, np.where(present, others, -np.inf)])
    return float((logsumexp(logits, axis=1) - own.diagonal()).mean())


@pytest.mark.parametrize("temperature", [0.05, 0.7])
def test_the_loss_is_equation_3_whatever_the_entities(temperature: float) -> None:
    sentences, method = floats(1, 2, 4, 6), build("simcse", self_temperature=temperature)
    found = method(inputs(sentences))[TOTAL]
    assert found.item() == pytest.approx(self_loss(sentences, temperature), rel=1e-5)
    assert method(inputs(sentences, ENTITIES))[TOTAL] == found
    assert not list(method.parameters())


def test_the_mlm_loss_is_added_by_its_weight_and_draws_nothing_without_one() -> None:
    sentences = floats(1, 2, 4, 6)
    with_mlm = build("simcse", mlm_weight=0.1, mlm_probability=0.5)
    terms = with_mlm(inputs(sentences))
    assert with_mlm.reads(with_mlm.options).token_columns == ("sentence",)
    assert terms["mlm_loss"].item() > 1
    expected = self_loss(sentences, 0.05) + 0.1 * terms["mlm_loss"].item()
    assert terms[TOTAL].item() == pytest.approx(expected, rel=1e-5)
    without, state = build("simcse"), torch.get_rng_state()
    assert set(without(inputs(sentences))) == {TOTAL, "self_loss"}
    assert torch.equal(torch.get_rng_state(), state)
    assert without.reads(without.options).token_columns == ()


@pytest.mark.parametrize(
    ("options", "temperature", "weight"),
    [({}, 0.05, 0.0), ({"temperature": 0.3, "hard_negative_weight": 1.0}, 0.3, 1.0)],
)
def test_the_supervised_loss_is_equation_5(options: dict[str, Any], temperature: float, weight: float) -> None:
    texts = floats(1, 3, 4, 6)
    for name in ("supervised_simcse", "msimcse"):
        method = build(name, **options)
        expected = supervised_loss(texts, temperature, PRESENT[2].tolist(), weight)
        assert method(inputs(texts, present=PRESENT))[TOTAL].item() == pytest.approx(expected, rel=1e-5)
        assert not list(method.parameters())


def test_missing_positives_are_the_sentence_and_missing_negatives_are_left_out(files: Path, tmp_path: Path) -> None:
    encoder = load_encoder(str(files / "encoder_without_dropout"))
    method = get_method("msimcse").build(
        method_options("msimcse", {"strategy": "mixture", "temperature": 0.3}), encoder, None
    )
    model = TrainingModel(encoder, nn.Identity(), method)
    pq.write_table(pa.table(MIXED), tmp_path / "texts.parquet")
    batch = batch_of(model, tmp_path / "texts.parquet", tmp_path / "texts.bin", chunks=2)
    sentences, positives, negatives = MIXED.values()
    texts = [
        sentences,
        [other or own for own, other in zip(sentences, positives, strict=True)],
        [other or "left out" for other in negatives],
    ]
    embeddings = torch.stack([encoder.encode(column, convert_to_tensor=True) for column in texts])
    expected = supervised_loss(embeddings, 0.3, [other is not None for other in negatives])
    assert model(batch)[TOTAL].item() == pytest.approx(expected, rel=1e-5)
