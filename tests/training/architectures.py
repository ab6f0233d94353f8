"""Tiny encoders with random weights of the architectures of today, each with its own kind of tokenizer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
from tokenizers.processors import TemplateProcessing
from torch import nn
from transformers import (
    AutoModel,
    BertConfig,
    BertTokenizer,
    Gemma3TextConfig,
    GemmaTokenizer,
    ModernBertConfig,
    NomicBertConfig,
    PreTrainedConfig,
    Qwen2Tokenizer,
    Qwen3Config,
    XLMRobertaConfig,
    XLMRobertaTokenizer,
)

from ease.encoders.encoder import save_encoder
from tests.training.tiny_training import sentences

SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "initializer_range": 0.3,  # a larger one than usual, so that positions and masks change the embeddings
}
GROUPED = {"num_key_value_heads": 2, "head_dim": 16}


class Architecture(NamedTuple):
    """How to build a tiny encoder."""

    config: Callable[..., PreTrainedConfig]
    options: dict[str, Any]
    tokenizer: Any
    template: str | None = None
    """Special tokens around a text; None: those of the trained tokenizer"""
    padding: str = "right"
    pooling: str = "mean"
    dense: bool = False
    normalize: bool = True
    prompts: dict[str, str] = {}  # noqa: RUF012
    dropout: float | None = None
    """The training run's `encoder_dropout`, for encoders that are configured without"""


ARCHITECTURES = {
    "xlm-roberta": Architecture(XLMRobertaConfig, {}, XLMRobertaTokenizer, normalize=False),
    "labse": Architecture(BertConfig, {}, BertTokenizer, pooling="cls", dense=True),
    "mmbert": Architecture(
        ModernBertConfig, {"local_attention": 8}, GemmaTokenizer, "<bos> $A <eos>", normalize=False, dropout=0.1
    ),
    "qwen3-embedding": Architecture(
        Qwen3Config, GROUPED, Qwen2Tokenizer, "$A <|endoftext|>", "left", "lasttoken", dropout=0.1
    ),
    "embeddinggemma": Architecture(
        Gemma3TextConfig,
        {**GROUPED, "use_bidirectional_attention": True, "sliding_window": 9},
        GemmaTokenizer,
        "<bos> $A <eos>",
        dense=True,
        padding="left",
        prompts={"query": "task: sentence similarity | query: "},
        dropout=0.1,
    ),
    "nomic": Architecture(NomicBertConfig, {}, BertTokenizer, dropout=0.1),
}  # fmt: skip


def write_architecture(name: str, folder: Path) -> Path:
    """Save a tiny encoder with seeded weights as its authors do; return the folder."""
    made = ARCHITECTURES[name]
    tokenizer = _train_tokenizer(made)
    ids = {f"{kind}_token_id": getattr(tokenizer, f"{kind}_token_id") for kind in ("pad", "bos", "eos", "cls", "sep")}
    options = {"max_position_embeddings": 66, **SIZES, **ids, **made.options}
    torch.manual_seed(0)
    model = AutoModel.from_config(made.config(vocab_size=len(tokenizer), **options))
    model.save_pretrained(folder / "transformer")
    tokenizer.save_pretrained(folder / "transformer")
    size = SIZES["hidden_size"]
    modules: list[nn.Module] = [Transformer(str(folder / "transformer")), Pooling(size, made.pooling)]
    if made.dense:
        modules += [Dense(size, 2 * size, activation_function=nn.Tanh()), Dense(2 * size, size, bias=False)]
    if made.normalize:
        modules.append(Normalize())
    encoder = SentenceTransformer(modules=modules, device="cpu", prompts=made.prompts or None)
    encoder.default_prompt_name = "query" if made.prompts else None
    save_encoder(encoder, folder / "encoder")
    return folder / "encoder"


def _train_tokenizer(made: Architecture) -> Any:
    """Train a tokenizer of the architecture's class on the sentences."""
    prompts = [prompt.strip() for prompt in made.prompts.values()]
    # Gemma's tokenizer joins words: with more entries, a sentence would be a single token.
    size = 100 if made.tokenizer is GemmaTokenizer else 300
    tokenizer = made.tokenizer().train_new_from_iterator([*sentences(), *prompts], size)
    if made.template is not None:
        words = [word for word in made.template.split() if word != "$A"]
        pairs = [(word, tokenizer.convert_tokens_to_ids(word)) for word in words]
        tokenizer._tokenizer.post_processor = TemplateProcessing(single=made.template, special_tokens=pairs)
    for name, value in {"padding_side": made.padding, "model_max_length": 64}.items():
        setattr(tokenizer, name, value)
        tokenizer.init_kwargs[name] = value  # what is saved
    return tokenizer
