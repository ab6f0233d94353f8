"""A hub cache of tiny encoders with the names, architectures, tokenizers and files of published ones."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import (
    BertConfig,
    BertForPreTraining,
    BertTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaTokenizer,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
    XLMRobertaTokenizer,
)

SIZES = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
VOCABULARY = 600
BERT_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA_TOKENS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]

Pretrained = tuple[PreTrainedModel, PreTrainedTokenizerBase]


def add_encoder(cache: Path, name: str, sentences: Sequence[str]) -> None:
    """Put a tiny encoder under a published name into a hub cache, as a download leaves it there.

    Args:
        cache: The folder that HF_HUB_CACHE names.
        name: As on the hub; decides on the architecture.
        sentences: Text that the tokenizer is trained on.
    """
    repository = cache / f"models--{name.replace('/', '--')}"
    commit = hashlib.sha1(name.encode()).hexdigest()
    snapshot = repository / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    write_encoder(snapshot, name, sentences)


def write_encoder(folder: Path, name: str, sentences: Sequence[str]) -> None:
    """Write a tiny encoder with the files of a published one into a folder.

    Args:
        folder: Made if missing.
        name: Decides on the architecture.
        sentences: Text that the tokenizer is trained on.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(len(name))
        model, tokenizer = _make(name)(name, sentences)
        if name.startswith("sentence-transformers/"):
            _save_sentence_transformer(name, model, tokenizer, folder)
        else:
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)


def _make(name: str) -> Callable[[str, Sequence[str]], Pretrained]:
    if "xlm-r" in name:
        return _xlm_roberta
    return _roberta if "roberta" in name or "declutr" in name else _bert


def _bert(name: str, sentences: Sequence[str]) -> Pretrained:
    """BERT with WordPiece."""
    lower = "uncased" in name
    trained = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trained.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=VOCABULARY, special_tokens=BERT_TOKENS, show_progress=False
    )
    trained.train_from_iterator((text.lower() if lower else text for text in sentences), trainer)
    tokenizer = BertTokenizer(vocab=trained.get_vocab(), do_lower_case=lower, model_max_length=512)
    config = BertConfig(vocab_size=len(tokenizer), **SIZES)
    return BertForPreTraining(config), tokenizer


def _roberta(name: str, sentences: Sequence[str]) -> Pretrained:
    """RoBERTa with byte-level BPE."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=ROBERTA_TOKENS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    trained.train_from_iterator(sentences, trainer)
    with tempfile.TemporaryDirectory() as folder:
        _, merges = trained.model.save(folder)
        lines = Path(merges).read_text(encoding="utf-8").splitlines()
    pairs = [tuple(line.split(" ")) for line in lines if not line.startswith("#")]
    tokenizer = RobertaTokenizer(vocab=trained.get_vocab(), merges=pairs, model_max_length=512)
    config = RobertaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=514, type_vocab_size=1, pad_token_id=1, **SIZES
    )
    return RobertaForMaskedLM(config), tokenizer


def _xlm_roberta(name: str, sentences: Sequence[str]) -> Pretrained:
    """XLM-RoBERTa with a unigram model."""
    # Training one takes half a minute: all letters and frequent words do as well here.
    words = Counter(f"▁{word}" for sentence in sentences for word in sentence.split())
    letters = sorted({letter for word in words for letter in word})
    pieces = [*letters, *(word for word, _ in words.most_common(VOCABULARY) if len(word) > 1)]
    special = [(token, 0.0) for token in ROBERTA_TOKENS[:-1]]
    vocabulary = [*special, *((piece, -10.0 / len(piece)) for piece in pieces), ("<mask>", 0.0)]
    tokenizer = XLMRobertaTokenizer(vocab=vocabulary, model_max_length=512)
    config = XLMRobertaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=514, type_vocab_size=1, pad_token_id=1, **SIZES
    )
    return XLMRobertaForMaskedLM(config), tokenizer


def _save_sentence_transformer(
    name: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path
) -> None:
    """Save an encoder with the modules of the published one; LaBSE has [CLS], a tanh layer and normalisation."""
    with tempfile.TemporaryDirectory() as plain:
        model.save_pretrained(plain)
        tokenizer.save_pretrained(plain)
        modules: list[torch.nn.Module] = [Transformer(plain)]
    size = SIZES["hidden_size"]
    if name.endswith("LaBSE"):
        modules += [Pooling(size, "cls"), Dense(size, size), Normalize()]
    else:
        modules += [Pooling(size, "mean")]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder), create_model_card=False)
