"""An encoder reads letters that it does not know as letters that it knows, without any training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding, Transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from ease.encoders.encoder import save_encoder
from ease.encoders.options import RespellingOptions
from ease.encoders.respelling import learn_respelling, new_pieces, respell, unknown_letters
from ease.encoders.vocabulary import add_pieces
from ease.errors import EaseError
from tests.encoders.tiny import tiny_encoder

WORDS = (
    "matka stary zamek woda rzeka miasto morze szkola kosciol kraj jezyk ptak wrona sosna dolina gora lato zima kamien "
    "droga pole dom okno brama krowa owca pies kot ryba"
).split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def save_tiny(folder: Path, kind: str) -> Path:
    """Save a random BERT of one layer with a Unigram or WordPiece tokenizer that knows Latin letters alone."""
    texts = [" ".join(WORDS[start : start + 5]) for start in range(len(WORDS))]
    special = {"special_tokens": SPECIAL, "show_progress": False}
    if kind == "Unigram":
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.normalizer = normalizers.NFKC()
        tokenizer.train_from_iterator(texts, trainers.UnigramTrainer(vocab_size=80, unk_token="[UNK]", **special))
    else:
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=120, **special))
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True))
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **names)
    config = BertConfig(
        vocab_size=len(wrapped), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    torch.manual_seed(0)
    BertModel(config).eval().save_pretrained(folder / "transformer")
    wrapped.save_pretrained(folder / "transformer")
    transformer = Transformer(str(folder / "transformer"))
    save_encoder(SentenceTransformer(modules=[transformer, Pooling(16, "mean")], device="cpu"), folder / "encoder")
    return folder / "encoder"


SPELLING = {"ô": "a", "ë": "y", "ł": ""}


@pytest.mark.parametrize("kind", ["Unigram", "WordPiece"])
def test_a_respelt_vocabulary_embeds_the_language_as_the_known_spelling(tmp_path: Path, kind: str) -> None:
    encoder = save_tiny(tmp_path, kind)
    texts = ["môtkô stôrë zômek", "Wodô môtkô krôj", "rłëbô, ptôłk"]
    before = SentenceTransformer(str(encoder), device="cpu")
    respelt = [respell(text, SPELLING) for text in texts]
    assert respelt[0] == "matka stary zamek"
    add_pieces(encoder, new_pieces(encoder, " ".join(texts).split(), SPELLING))
    after = SentenceTransformer(str(encoder), device="cpu")
    np.testing.assert_allclose(after.encode(texts), before.encode(respelt), atol=1e-6)
    others = ["matka stary zamek", "dolina, gora [MASK] lato", "kosciol"]
    np.testing.assert_array_equal(after.encode(others), before.encode(others))


def test_static_embeddings_are_respelt_too(tmp_path: Path) -> None:
    save_tiny(tmp_path, "WordPiece")
    tokenizer = Tokenizer.from_file(str(tmp_path / "encoder/tokenizer.json"))
    tokenizer.no_padding()
    weights = np.random.default_rng(0).normal(size=(tokenizer.get_vocab_size(), 8)).astype(np.float32)
    static = StaticEmbedding(tokenizer, embedding_weights=weights)
    save_encoder(SentenceTransformer(modules=[static], device="cpu"), tmp_path / "static")
    before = SentenceTransformer(str(tmp_path / "static"), device="cpu")
    texts = ["môtkô stôrë zômek", "Wodô môtkô krôj"]
    add_pieces(tmp_path / "static", new_pieces(tmp_path / "static", " ".join(texts).split(), SPELLING))
    after = SentenceTransformer(str(tmp_path / "static"), device="cpu")
    respelt = [respell(text, SPELLING) for text in texts]
    np.testing.assert_allclose(after.encode(texts), before.encode(respelt), atol=1e-6)
    np.testing.assert_array_equal(after.encode(respelt), before.encode(respelt))


def encode_apart(texts: list[str]) -> np.ndarray:
    """Give each text a direction of its own."""
    return np.eye(len(texts))


def test_a_byte_pair_encoding_is_left_as_it_is(tmp_path: Path) -> None:
    save_encoder(tiny_encoder(WORDS * 3), tmp_path / "encoder")
    with pytest.raises(EaseError, match="of the type BPE cannot be extended"):
        add_pieces(tmp_path / "encoder", {"ô": "a"})
    learnt = learn_respelling(tmp_path / "encoder", encode_apart, ["môtkô"], [], [], RespellingOptions())
    assert not learnt.helps
    assert "BPE" in learnt.reason


def test_an_encoder_without_pieces_is_left_as_it_is(tmp_path: Path) -> None:
    learnt = learn_respelling(tmp_path, encode_apart, ["môtkô"], [], [], RespellingOptions())
    assert learnt.reason == "it has no tokenizer with pieces"


def ciphered(word: str) -> str:
    """Spell a word as a language does that the encoder does not know."""
    return word.translate(str.maketrans({"a": "ô", "e": "ë", "o": "ò"}))


@pytest.fixture(scope="module")
def encode_letters() -> TfidfVectorizer:
    """An encoder that knows the words by their letters, as the sum of their letter trigrams."""
    return TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 3)).fit(WORDS)


def names_of(words: list[str]) -> list[tuple[str, str]]:
    """Return pairs of a ciphered compound of two words, and the compound."""
    compounds = [f"{first} {second}" for first in words for second in words[:8] if first != second]
    return [(ciphered(compound), compound) for compound in compounds]


def test_letters_are_learnt_from_names_and_judged_on_others(tmp_path: Path, encode_letters: TfidfVectorizer) -> None:
    encoder = save_tiny(tmp_path, "Unigram")
    texts = [ciphered(" ".join(WORDS))] * 3

    def encode(sentences: list[str]) -> np.ndarray:
        # A text without any known trigram would have no direction.
        return np.hstack([encode_letters.transform(sentences).toarray(), np.full((len(sentences), 1), 0.01)])

    assert set(unknown_letters(texts, encoder, RespellingOptions())) == {"ô", "ë", "ò"}
    names = names_of(WORDS[:20])
    learnt = learn_respelling(encoder, encode, texts, names, [names_of(WORDS[20:])], RespellingOptions())
    assert {gain.letter: gain.replacement for gain in learnt.letters} == {"ô": "a", "ë": "e", "ò": "o"}
    assert learnt.helps
    assert learnt.loss_after is not None
    assert learnt.loss_before is not None
    assert learnt.loss_after < learnt.loss_before
    # Held-out translations that do not belong to their names contradict the letters.
    shuffled = names_of(WORDS[20:])
    wrong = [(name, shuffled[index - 3][1]) for index, (name, _) in enumerate(shuffled)]
    refused = learn_respelling(encoder, encode, texts, names, [wrong], RespellingOptions())
    assert not refused.helps
    assert "held-out" in refused.reason


def test_too_few_names_teach_nothing(tmp_path: Path) -> None:
    encoder = save_tiny(tmp_path, "WordPiece")
    learnt = learn_respelling(encoder, encode_apart, ["môtkô"], [("a", "b")], [], RespellingOptions())
    assert "only 1 names have a translation" in learnt.reason


def test_letters_are_rare_among_those_of_their_script(tmp_path: Path) -> None:
    """A vocabulary of many languages has few pieces of each script, and still knows its letters."""
    cyrillic = ["вода місто море"] * 2
    encoder = tiny_encoder([" ".join(WORDS), *cyrillic])
    save_encoder(encoder, tmp_path)
    assert unknown_letters([*cyrillic, "вода ѣ ѣ ѣ"], tmp_path, RespellingOptions()) == ["ѣ"]
