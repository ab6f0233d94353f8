"""An encoder reads letters that it does not know as letters that it knows, without any training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding, Transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import BertConfig, BertModel, GemmaTokenizer, PreTrainedTokenizerFast

from ease.encoders.encoder import save_encoder
from ease.encoders.options import RespellingOptions
from ease.encoders.respelling import learn_respelling, new_pieces, respell, unknown_letters
from ease.encoders.small_vocabulary import trim_vocabulary
from ease.encoders.tokenizer import train_tokenizer
from ease.encoders.vocabulary import add_pieces
from ease.errors import EaseError
from tests.encoders.tiny import tiny_encoder

WORDS = (
    "matka stary zamek woda rzeka miasto morze szkola kosciol kraj jezyk ptak wrona sosna dolina gora lato zima kamien "
    "droga pole dom okno brama krowa owca pies kot ryba"
).split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
NAMES = {"pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}


def train_gemma(texts: list[str]) -> GemmaTokenizer:
    """Train a BPE as Gemma has it: it reads unknown letters as bytes, and a word after a space begins with ▁."""
    trained = Tokenizer(models.BPE())
    trained.normalizer = normalizers.Replace(" ", "▁")
    trained.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    trained.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=90, show_progress=False))
    model = json.loads(trained.to_str())["model"]
    pieces = [*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256)), *model["vocab"]]
    merges = [tuple(merge) for merge in model["merges"]]
    numbers = {piece: number for number, piece in enumerate(pieces)}
    return GemmaTokenizer(numbers, merges, bos_token="[CLS]", eos_token="[SEP]", **NAMES)


def make_tokenizer(kind: str) -> Any:
    """Train a tokenizer that knows the Latin letters of `WORDS` alone."""
    texts = [" ".join(WORDS[start : start + 5]) for start in range(len(WORDS))]
    if kind == "Gemma":
        return train_gemma(texts)
    if kind == "BPE":
        return train_tokenizer(texts, vocabulary_size=90, max_length=64)
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
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=64, cls_token="[CLS]", sep_token="[SEP]", **NAMES
    )


def save_tiny(folder: Path, kind: str) -> Path:
    """Save a random BERT of one layer with a tokenizer of a kind."""
    wrapped = make_tokenizer(kind)
    config = BertConfig(
        vocab_size=len(wrapped), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    torch.manual_seed(0)
    BertModel(config).eval().save_pretrained(folder / "transformer")
    wrapped.save_pretrained(folder / "transformer")
    transformer = Transformer(str(folder / "transformer"))
    save_encoder(SentenceTransformer(modules=[transformer, Pooling(16, "mean")], device="cpu"), folder / "encoder")
    return folder / "encoder"


SPELLING = {"ô": "a", "ë": "y"}
REMOVING = {**SPELLING, "ł": ""}


@pytest.mark.parametrize(
    ("kind", "spelling"), [("Unigram", REMOVING), ("WordPiece", REMOVING), ("BPE", SPELLING), ("Gemma", SPELLING)]
)
def test_a_respelt_vocabulary_embeds_the_language_as_the_known_spelling(
    tmp_path: Path, kind: str, spelling: dict[str, str]
) -> None:
    encoder = save_tiny(tmp_path, kind)
    texts = ["môtkô stôrë zômek", "Wodô môtkô krôj", "rëbô, ptôk"]
    if "ł" in spelling:
        texts.append("rłëbô, ptôłk")
    before = SentenceTransformer(str(encoder), device="cpu")
    respelt = [respell(text, spelling) for text in texts]
    assert respelt[0] == "matka stary zamek"
    add_pieces(encoder, new_pieces(encoder, " ".join(texts).split(), spelling))
    after = SentenceTransformer(str(encoder), device="cpu")
    np.testing.assert_allclose(after.encode(texts), before.encode(respelt), atol=1e-6)
    others = ["matka stary zamek", "dolina, gora [MASK] lato", "kosciol ☃"]
    np.testing.assert_array_equal(after.encode(others), before.encode(others))
    # The copy with fewer pieces reads the language's letters as well.
    trim_vocabulary(encoder, [*texts, *others])
    trimmed = SentenceTransformer(str(encoder), device="cpu")
    np.testing.assert_allclose(trimmed.encode(texts), before.encode(respelt), atol=1e-6)


def random_words(generator: np.random.Generator, count: int) -> list[str]:
    """Make words of the halves of others, which a tokenizer splits in many ways; some begin with a capital."""
    halves = [word[: len(word) // 2] for word in WORDS] + [word[len(word) // 2 :] for word in WORDS]
    words = ["".join(generator.choice(halves, generator.integers(1, 5))) for _ in range(count)]
    return [word.capitalize() if generator.random() < 0.2 else word for word in words]


@pytest.mark.parametrize("kind", ["BPE", "Gemma"])
def test_merges_split_new_letters_as_the_known_ones(tmp_path: Path, kind: str) -> None:
    """Also where a word mixes new and known letters, which stand for the same."""
    encoder = save_tiny(tmp_path, kind)
    generator = np.random.default_rng(0)
    known_texts = [" ".join(random_words(generator, 4)) for _ in range(500)]
    new_letters = {known: letter for letter, known in SPELLING.items()}
    texts = [
        "".join(new_letters.get(letter, letter) if generator.random() < 0.7 else letter for letter in text)
        for text in known_texts
    ]
    before = Tokenizer.from_file(str(encoder / "tokenizer.json"))
    add_pieces(encoder, new_pieces(encoder, " ".join(texts).split(), SPELLING))
    after = Tokenizer.from_file(str(encoder / "tokenizer.json"))
    for text, known_text in zip(texts, known_texts, strict=True):
        known_tokens = before.encode(known_text).tokens
        assert after.encode(known_text).tokens == known_tokens
        tokens = after.encode(text).tokens
        assert [respell(token, SPELLING) for token in tokens] == known_tokens
        assert "".join(tokens).count("ô") == text.count("ô"), "no letter is read as bytes"


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


@pytest.mark.parametrize(
    ("model", "pre_tokenizer", "reason"),
    [
        (models.BPE(), pre_tokenizers.ByteLevel(), "its tokenizer merges bytes, of which a letter has several"),
        (models.BPE(end_of_word_suffix="</w>"), None, "its tokenizer marks the inside or the end of words"),
        (
            models.WordLevel(),
            None,
            "a tokenizer of the type WordLevel cannot be extended, only Unigram, WordPiece, BPE",
        ),
    ],
)
def test_other_tokenizers_are_left_as_they_are(tmp_path: Path, model: Any, pre_tokenizer: Any, reason: str) -> None:
    tokenizer = Tokenizer(model)
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(EaseError, match=reason):
        add_pieces(tmp_path, {"ô": "a"})
    learnt = learn_respelling(tmp_path, encode_apart, ["môtkô"], [], [], RespellingOptions())
    assert not learnt.helps
    assert reason in learnt.reason


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


@pytest.mark.parametrize("kind", ["Unigram", "Gemma"])
def test_letters_are_learnt_from_names_and_judged_on_others(
    tmp_path: Path, encode_letters: TfidfVectorizer, kind: str
) -> None:
    encoder = save_tiny(tmp_path, kind)
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
