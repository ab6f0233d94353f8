"""Sentence encoders, all of them `SentenceTransformer`: made from random weights or loaded, pooled, saved."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch
from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]
from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import (
    Dense,
    Module,
    Pooling,
    Transformer,
    WeightedLayerPooling,
)
from torch import nn
from transformers import BertConfig, BertModel
from transformers.utils import logging as transformers_logging

from ease.encoders.check import cannot_load, check_reachable
from ease.encoders.options import POOLINGS, RANDOM, EncoderOptions, RandomBertOptions
from ease.encoders.tokenizer import train_tokenizer
from ease.encoders.word_vectors import is_vector_file, load_word_vectors
from ease.errors import EaseError


def build_encoder(options: EncoderOptions, sentences: Iterable[str] | None = None) -> SentenceTransformer:
    """Make or load the encoder that a training starts from.

    Args:
        options: Its name, pooling, architecture and seed.
        sentences: Text that the tokenizer of `random:` is trained on.

    Raises:
        EaseError: If the name is neither a folder nor on the hub, or text is missing.
    """
    if not options.name.startswith(RANDOM):
        return load_encoder(options.name, options.pooling, options.seed)
    if options.name != RANDOM:
        raise EaseError(
            f"Unknown encoder {options.name!r}: write `{RANDOM}` alone and its architecture in `random`."
        )
    if sentences is None:
        raise EaseError(f"The encoder `{RANDOM}` needs sentences to train its tokenizer on.")
    encoder = _random_bert(options.random, sentences, options.seed)
    set_pooling(encoder, options.pooling or "mean", options.seed)
    return encoder


def load_encoder(name: str, pooling: str | None = None, seed: int = 0) -> SentenceTransformer:
    """Load an encoder from a folder, the hub or a file of word vectors, on the CPU.

    A model that was not saved by sentence-transformers gets mean pooling, unless one is given.

    Args:
        name: A hub name, a folder, or a text file of word vectors (`.txt`, `.vec`, either with `.gz`).
        pooling: Replaces the pooling that the encoder was saved with; word vectors have `mean` alone.
        seed: Of the MLP that `cls_mlp` adds.

    Raises:
        EaseError: If there is no such encoder, saying how to get one without a network, or a line of the word
            vectors is wrong.
    """
    if pooling is not None:
        _check_pooling(pooling)
    if is_vector_file(name):
        return _averaged_words(name, pooling)
    try:
        check_reachable(name)
        with no_progress_bars():
            encoder = SentenceTransformer(name, device="cpu")
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError, HTTPError) as error:
        raise EaseError(cannot_load(name, error)) from error
    if pooling is not None:
        set_pooling(encoder, pooling, seed)
    return encoder


def _averaged_words(name: str, pooling: str | None) -> SentenceTransformer:
    if pooling not in (None, "mean"):
        raise EaseError(f"Word vectors such as {name!r} have no pooling {pooling!r}: set `pooling: mean`.")
    return load_word_vectors(Path(name))


def set_pooling(encoder: SentenceTransformer, pooling: str, seed: int = 0) -> None:
    """Replace everything after the transformer by a pooling, in place; all of them load without code of ours.

    Args:
        encoder: Begins with a transformer.
        pooling: `mean`; `cls`; `cls_mlp`: [CLS] with an MLP (a linear layer and tanh) kept in the model;
            `cls_mlp_train`: [CLS], the MLP being a part of the training alone (`training_head`);
            `first_last_mean`: the mean of the first and the last layer's token means.
        seed: Of the MLP's weights.

    Raises:
        EaseError: If the pooling is unknown or the encoder does not begin with a transformer.
    """
    _check_pooling(pooling)
    transformer = _transformer(encoder)
    dimension = int(transformer.get_embedding_dimension())
    modules: list[nn.Module] = [Pooling(dimension, "mean" if pooling.endswith("mean") else "cls")]
    if pooling == "cls_mlp":
        with _seeded(seed):
            modules.append(Dense(dimension, dimension, activation_function=nn.Tanh()))
    all_layers = pooling == "first_last_mean"
    transformer.model.config.output_hidden_states = all_layers
    if all_layers:
        modules.insert(0, _first_last_layers(dimension, int(transformer.config.num_hidden_layers)))
    for name in list(encoder._modules)[1:]:
        del encoder._modules[name]
    for position, module in enumerate(modules, start=1):
        encoder.add_module(str(position), module)


def training_head(encoder: SentenceTransformer, pooling: str | None, seed: int) -> nn.Module:
    """Make the layers between the encoder and the losses: the MLP of `cls_mlp_train`, else none."""
    if pooling != "cls_mlp_train":
        return nn.Identity()
    dimension = embedding_dimension(encoder)
    with _seeded(seed):
        return nn.Sequential(nn.Linear(dimension, dimension), nn.Tanh())


def save_encoder(encoder: SentenceTransformer, folder: Path, card: str | None = None) -> None:
    """Save in sentence-transformers form with safetensors; the caller makes the folder appear whole.

    Args:
        encoder: Any.
        folder: Made if need be.
        card: The text of its README.md, the model card.
    """
    with no_progress_bars():
        encoder.save(str(folder), create_model_card=False, safe_serialization=True)
    if card is not None:
        (folder / "README.md").write_text(card, encoding="utf-8")


def embedding_dimension(encoder: SentenceTransformer) -> int:
    """Dimension of the sentence embeddings."""
    dimension = encoder.get_embedding_dimension()
    if dimension is None:
        raise EaseError("The encoder does not tell the dimension of its embeddings: set a `pooling`.")
    return int(dimension)


def _check_pooling(pooling: str) -> None:
    if pooling not in POOLINGS:
        raise EaseError(f"Unknown pooling {pooling!r}: choose one of {', '.join(POOLINGS)}.")


def _transformer(encoder: SentenceTransformer) -> Transformer:
    first = encoder[0]
    if not isinstance(first, Transformer):
        raise EaseError(
            f"The encoder begins with {type(first).__name__}, not a transformer, so no pooling fits: "
            "set `pooling: null` to keep what it has."
        )
    return first


def _first_last_layers(dimension: int, layers: int) -> Module:
    """Average the outputs of the first and the last transformer layer with fixed weights."""
    weights = torch.zeros(layers)
    weights[0] += 1.0
    weights[-1] += 1.0
    # Layer 0 is the embedding of the tokens, before the first layer.
    return WeightedLayerPooling(
        dimension, layers, layer_start=1, layer_weights=nn.Parameter(weights, requires_grad=False)
    )


def _random_bert(options: RandomBertOptions, sentences: Iterable[str], seed: int) -> SentenceTransformer:
    """Draw the weights of a BERT and train its tokenizer."""
    tokenizer = train_tokenizer(
        sentences,
        options.vocabulary_size,
        options.max_positions,
        lowercase=options.lowercase,
        max_sentences=options.tokenizer_sentences,
    )
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=options.hidden_size,
        num_hidden_layers=options.layers,
        num_attention_heads=options.heads,
        intermediate_size=options.intermediate_size,
        max_position_embeddings=options.max_positions,
        hidden_dropout_prob=options.dropout,
        attention_probs_dropout_prob=options.dropout,
        pad_token_id=tokenizer.pad_token_id,
    )
    with _seeded(seed):
        model = BertModel(config)
    # sentence-transformers builds its transformer from a folder alone.
    with tempfile.TemporaryDirectory() as folder, no_progress_bars():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        transformer = Transformer(folder)
    transformer.model.config.name_or_path = transformer.model.name_or_path = RANDOM
    return SentenceTransformer(modules=[transformer, Pooling(options.hidden_size, "mean")], device="cpu")


@contextlib.contextmanager
def no_progress_bars() -> Iterator[None]:
    """Keep transformers from drawing a bar for each file."""
    enabled = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if enabled:
            transformers_logging.enable_progress_bar()


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Draw from a seed inside, and leave the random state outside as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield
