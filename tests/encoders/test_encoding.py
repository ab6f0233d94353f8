"""Encoding for evaluation: each distinct sentence once, longest first, cached on disk."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding

from ease.encoders.encoder import save_encoder
from ease.encoders.encoding import EmbeddingCache, encode_with, fingerprint, move_to_device
from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from tests.encoders.tiny import tiny_encoder

SENTENCES = ["one two three", "one", "two three", "one two three four five six", "three", "one"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved tiny BERT."""
    path = tmp_path_factory.mktemp("encoders") / "tiny"
    save_encoder(tiny_encoder([" ".join(SENTENCES)] * 3), path)
    return path


class Counted(SentenceTransformer):
    """Records the sentences that it encodes."""

    def encode(self, inputs: Any, *arguments: Any, **options: Any) -> Any:
        self.seen = [*getattr(self, "seen", []), *inputs]
        return super().encode(inputs, *arguments, **options)


def test_embeddings_equal_the_encoders_in_input_order(folder: Path) -> None:
    model: Any = Counted(str(folder), device="cpu")
    found = encode_with(model)(SENTENCES)
    tokens = [len(model.tokenizer(sentence)["input_ids"]) for sentence in model.seen]
    assert sorted(model.seen) == sorted(set(SENTENCES))
    assert tokens == sorted(tokens, reverse=True)
    alone = np.stack([SentenceTransformer(str(folder)).encode([sentence])[0] for sentence in SENTENCES])
    np.testing.assert_allclose(found, alone, atol=1e-6)
    assert (found[1] == found[5]).all(), "equal sentences have equal embeddings to the last bit"
    assert found.dtype == np.float32


@pytest.mark.parametrize("sentences", ["one", [None], [1], [b"one"], ["one \ud800"]])
def test_what_is_no_list_of_texts_is_refused(folder: Path, sentences: Any) -> None:
    with pytest.raises(EaseError):
        encode_with(folder)(sentences)


def test_nothing_is_encoded_twice_by_one_model(folder: Path, tmp_path: Path) -> None:
    options = EncodingOptions(batch_size=2, cache=tmp_path)
    first, second = (Counted(str(folder), device="cpu") for _ in range(2))
    fresh = encode_with(first, options)(SENTENCES[:3])
    kept = encode_with(second, options)([*SENTENCES, "new"])
    assert sorted(first.seen) == sorted(set(SENTENCES[:3]))
    assert sorted(second.seen) == ["new", "one two three four five six", "three"]
    np.testing.assert_array_equal(kept[:3], fresh)


def test_a_fingerprint_depends_on_weights_pooling_tokenizer_and_length(folder: Path, tmp_path: Path) -> None:
    changes: list[Callable[[Any], object]] = [
        lambda model: None,
        lambda model: setattr(model, "max_seq_length", 7),
        lambda model: setattr(model[1], "pooling_mode", "cls"),
        lambda model: model.tokenizer.add_tokens(["another"]),
        lambda model: setattr(model, "prompts", {"query": "Q: "}),
        lambda model: next(model.parameters()).data.add_(1),
        lambda model: setattr(model[0].config, "num_attention_heads", 4),
        lambda model: setattr(model.tokenizer, "padding_side", "left"),
    ]
    found = set()
    for change in changes:
        model = SentenceTransformer(str(folder), device="cpu")
        change(model)
        found.add(fingerprint(model))
    assert len(found) == len(changes)
    shutil.copytree(folder, tmp_path / "copy")
    copy = SentenceTransformer(str(tmp_path / "copy"), device="cpu")
    copy.encode(["sets the tokenizer's padding"])
    assert fingerprint(copy) in found, "neither the folder nor the padding matter"


def test_the_error_for_a_broken_cache_says_how_to_fix_it(tmp_path: Path) -> None:
    file = tmp_path / "m.sqlite"
    file.write_text("no database at all, but long enough to be read as a header of one" * 20)
    with pytest.raises(EaseError, match=r"m\.sqlite: the cache of embeddings cannot be used.*delete the file"):
        EmbeddingCache(file)


class Greedy(SentenceTransformer):
    """Asks for more memory than there is for more than `fitting` sentences at once."""

    fitting = 0

    def encode(self, inputs: Any, *arguments: Any, **options: Any) -> Any:
        if len(inputs) > self.fitting:
            torch.empty(1 << 60)
        return super().encode(inputs, *arguments, **options)


def test_batches_beyond_the_memory_are_encoded_in_halves(folder: Path) -> None:
    encoder = Greedy(str(folder), device="cpu")
    expected = encode_with(folder, EncodingOptions(batch_size=1))(SENTENCES)
    encode = encode_with(encoder, EncodingOptions(batch_size=len(SENTENCES)))
    for encoder.fitting in (1, 3):
        assert np.allclose(encode(SENTENCES), expected, atol=1e-6)
    encoder.fitting = 0
    with pytest.raises(EaseError, match="not enough memory.*use a larger device.*can't allocate memory"):
        encode(SENTENCES)


def test_a_static_encoder_stays_on_the_cpu(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ease.encoders.encoding.best_device", lambda: torch.device("meta"))
    transformer = move_to_device(SentenceTransformer(str(folder), device="cpu"))
    embedding = StaticEmbedding(transformer.tokenizer.backend_tokenizer, embedding_dim=8)
    static = move_to_device(SentenceTransformer(modules=[embedding], device="cpu"))
    assert (transformer.device.type, static.device.type) == ("meta", "cpu")
