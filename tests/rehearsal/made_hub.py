"""A hub cache of tiny encoders with the names, architectures and modules of published ones."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
from transformers import (
    BertConfig,
    BertForPreTraining,
    PreTrainedModel,
    RobertaConfig,
    RobertaForMaskedLM,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
)

from ease.encoders.tokenizer import train_tokenizer

SIZES = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
VOCABULARY = 600


def add_encoder(cache: Path, name: str, sentences: Sequence[str]) -> None:
    """Put a tiny encoder under a published name into a hub cache, as a download leaves it there."""
    repository = cache / f"models--{name.replace('/', '--')}"
    commit = hashlib.sha1(name.encode()).hexdigest()
    snapshot = repository / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    write_encoder(snapshot, name, sentences)


def write_encoder(folder: Path, name: str, sentences: Sequence[str]) -> None:
    """Write a tiny encoder with the architecture and modules that a published one of this name has."""
    tokenizer = train_tokenizer(sentences, VOCABULARY, 512, lowercase="uncased" in name)
    roberta = {"max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": tokenizer.pad_token_id}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(len(name))
        model: PreTrainedModel
        if "xlm-r" in name:
            model = XLMRobertaForMaskedLM(XLMRobertaConfig(vocab_size=len(tokenizer), **roberta, **SIZES))
        elif "roberta" in name or "declutr" in name:
            model = RobertaForMaskedLM(RobertaConfig(vocab_size=len(tokenizer), **roberta, **SIZES))
        else:
            model = BertForPreTraining(BertConfig(vocab_size=len(tokenizer), **SIZES))
        if not name.startswith("sentence-transformers/"):
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            return
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
