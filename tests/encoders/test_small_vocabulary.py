"""A trimmed vocabulary gives the same embeddings for the texts that it was made for, for each kind of tokenizer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

from ease.encoders.encoder import load_encoder, save_encoder
from ease.encoders.small_vocabulary import trim_vocabulary
from ease.errors import EaseError
from tests.encoders.tiny import tiny_encoder

ENGLISH = [
    "The river runs to the sea.",
    "A large city has many rivers, 3 zoos and a sea-side.",
    "Rivers run; cities do not!",
]
RUSSIAN = ["Большой город стоит на реке.", "Реки бегут к морю, города нет."]
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def train_unigram(texts: Iterable[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=160, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    numbers = [(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")]
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=numbers)
    return tokenizer


def train_word_piece(texts: Iterable[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(
        texts, trainers.WordPieceTrainer(vocab_size=160, special_tokens=SPECIAL, show_progress=False)
    )
    ends = [(token, tokenizer.token_to_id(token)) for token in ("</s>", "<s>")]
    tokenizer.post_processor = processors.BertProcessing(*ends)
    return tokenizer


def train_byte_level(texts: Iterable[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def make_encoder(tokenizer: Tokenizer, folder: Path, *, positions_from_padding: bool = False) -> SentenceTransformer:
    """Return a tiny encoder with a tokenizer; XLM-R's positions begin behind its padding token's number."""
    tokenizer.add_tokens(["<query>"])
    names = dict(zip(("bos_token", "pad_token", "eos_token", "unk_token", "mask_token"), SPECIAL, strict=True))
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
    sizes: dict[str, Any] = {
        "vocab_size": len(fast) + 8,  # published tables often have more rows than there are pieces
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 66,
        "pad_token_id": fast.pad_token_id,
    }
    if positions_from_padding:
        model: Any = XLMRobertaModel(XLMRobertaConfig(**sizes))
    else:
        model = BertModel(BertConfig(**sizes))
    model.save_pretrained(folder / "transformer")
    fast.save_pretrained(folder / "transformer")
    transformer = Transformer(str(folder / "transformer"), max_seq_length=64)
    encoder = SentenceTransformer(modules=[transformer, Pooling(16, "mean")], device="cpu")
    save_encoder(encoder, folder / "encoder")
    return load_encoder(str(folder / "encoder"))


@pytest.mark.parametrize(
    ("train", "positions_from_padding"),
    [(train_unigram, True), (train_word_piece, False), (train_byte_level, False)],
)
def test_texts_keep_their_embeddings_in_fewer_weights(
    train: Callable[[Iterable[str]], Tokenizer], positions_from_padding: bool, tmp_path: Path
) -> None:
    full = make_encoder(train([*ENGLISH, *RUSSIAN] * 5), tmp_path, positions_from_padding=positions_from_padding)
    texts = [*ENGLISH[:2], "<query>A city."]
    report = trim_vocabulary(tmp_path / "encoder", texts)
    small = load_encoder(str(tmp_path / "encoder"))
    np.testing.assert_allclose(small.encode(texts), full.encode(texts), atol=1e-6)
    model: Any = small[0].model
    rows = model.get_input_embeddings().num_embeddings
    assert (report.texts, report.pieces, report.pieces_before) == (3, rows, len(full.tokenizer) + 8)
    assert rows == len(small.tokenizer) == model.config.vocab_size < 0.9 * report.pieces_before
    assert report.weights == report.weights_before - 16 * (report.pieces_before - rows)
    assert report.lowest_cosine == pytest.approx(1)
    # Further words of the same script are split into the characters that stay.
    unknown = small.tokenizer.unk_token_id
    for word in ("run", "do", "cities", "not"):
        assert unknown not in full.tokenizer(word)["input_ids"]
        assert unknown not in small.tokenizer(word)["input_ids"]
    saved = json.loads((tmp_path / "encoder" / "tokenizer.json").read_text("utf-8"))
    assert [token["content"] for token in saved["added_tokens"]] == [*SPECIAL, "<query>"]


def test_the_characters_of_the_scripts_stay(tmp_path: Path) -> None:
    make_encoder(train_unigram([*ENGLISH, *RUSSIAN] * 5), tmp_path)
    trim_vocabulary(tmp_path / "encoder", ["A sea."])
    pieces = set(load_encoder(str(tmp_path / "encoder")).tokenizer.get_vocab())
    assert {"z", "3", ";", "!", "h"} <= pieces
    assert not {"й", "р"} & pieces


def test_an_own_encoder_of_byte_pairs_is_trimmed(tmp_path: Path) -> None:
    full = tiny_encoder([*ENGLISH, *RUSSIAN] * 5, vocabulary_size=400)
    save_encoder(full, tmp_path / "own")
    report = trim_vocabulary(tmp_path / "own", RUSSIAN)
    assert report.pieces < report.pieces_before
    np.testing.assert_allclose(load_encoder(str(tmp_path / "own")).encode(RUSSIAN), full.encode(RUSSIAN), atol=1e-6)


def test_what_cannot_be_trimmed_is_refused(tmp_path: Path) -> None:
    make_encoder(train_word_piece(ENGLISH * 5), tmp_path)
    with pytest.raises(EaseError, match="There is no text whose pieces could be kept"):
        trim_vocabulary(tmp_path / "encoder", [])
    file = tmp_path / "encoder" / "tokenizer.json"
    description = json.loads(file.read_text("utf-8"))
    description["model"]["type"] = "WordLevel"
    file.write_text(json.dumps(description), encoding="utf-8")
    with pytest.raises(EaseError, match="of the type WordLevel cannot be trimmed, only Unigram, WordPiece, BPE"):
        trim_vocabulary(tmp_path / "encoder", ENGLISH)
