"""Sentence encoders as `SentenceTransformer`: built from random weights or loaded, pooled, saved."""

from __future__ import annotations

import gc
import logging
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from weakref import WeakSet

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
from torch import nn
from transformers import BertConfig, BertModel

from ease.encoders.check import (
    READING,
    cannot_load,
    check_encoder,
    check_length,
    check_local_files,
    check_saved,
    check_tokenizer,
    commit_of,
    is_sentence_encoder,
    is_vector_file,
    no_progress_bars,
    place_of,
)
from ease.encoders.known import KnownEncoder, known_names, last_part, recognise
from ease.encoders.options import RANDOM, EncoderOptions, LoadingOptions
from ease.encoders.poolings import check_pooling, pooling_modules, seeded
from ease.encoders.prompts import (
    TASK_TYPES,
    Use,
    check_default,
    merged_prompts,
    prompt_for,
    prompt_named,
    summarize_prompts,
)
from ease.encoders.tokenizer import train_tokenizer
from ease.encoders.word_vectors import load_word_vectors
from ease.errors import EaseError
from ease.io.files import report_write_errors
from ease.io.locks import temporary_folder

logger = logging.getLogger(__name__)

LARGE_ENCODER = 10_000_000
"""Parameters of an encoder whose memory is worth a garbage collection, which takes some tenths of a second"""
_large_encoders: WeakSet[SentenceTransformer] = WeakSet()
"""Those that are in memory, whether they are used or not"""

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def build_encoder(options: EncoderOptions, sentences: Iterable[str] | None = None) -> SentenceTransformer:
    """Return the encoder that training starts from; the tokenizer of `random:` is trained on the sentences."""
    if options.name != RANDOM:
        return load_encoder(options.name, options.pooling, options.seed)
    if sentences is None:
        raise EaseError(f"The encoder `{RANDOM}` needs sentences to train its tokenizer on.")
    sizes = options.random
    tokenizer = train_tokenizer(
        sentences,
        sizes.vocabulary_size,
        sizes.max_positions,
        lowercase=sizes.lowercase,
        max_sentences=sizes.tokenizer_sentences,
    )
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=sizes.hidden_size,
        num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.heads,
        intermediate_size=sizes.intermediate_size,
        max_position_embeddings=sizes.max_positions,
        hidden_dropout_prob=sizes.dropout,
        attention_probs_dropout_prob=sizes.dropout,
        pad_token_id=tokenizer.pad_token_id,
    )
    with seeded(options.seed):
        model = BertModel(config)
    # sentence-transformers loads a transformer from a folder only.
    with temporary_folder() as folder, no_progress_bars():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        transformer = Transformer(str(folder))
    # Otherwise the temporary folder would be saved as the place that the weights come from.
    transformer.model.config.name_or_path = transformer.model.name_or_path = RANDOM
    encoder = SentenceTransformer(modules=[transformer, Pooling(sizes.hidden_size, "mean")], device="cpu")
    set_pooling(encoder, options.pooling or "mean", options.seed)
    return encoder


def load_encoder(
    name: str,
    pooling: str | None = None,
    seed: int = 0,
    *,
    stop_words: bool = False,
    revision: str | None = None,
    dtype: torch.dtype | None = None,
) -> SentenceTransformer:
    """Load an encoder from a folder, the hub or a text file of word vectors (.txt, .vec, .gz), onto the CPU.

    A model that was not saved by sentence-transformers gets the pooling of its file in `ease/encoders/known`, or else
    the mean, unless `pooling` is given. Prompts of that file are added to those that the model was saved with.

    Args:
        name: A hub name, a folder, or a file.
        pooling: Replaces the saved pooling; word vectors allow `mean` only. `seed` is that of its own weights.
        seed: See `pooling`.
        stop_words: Whether averages of word vectors include stop words.
        revision: Commit, branch or tag on the hub; None: the commit on this machine, or else the newest.
        dtype: Type of the weights; None: as they were saved.

    Raises:
        EaseError: If the pooling is unknown, the encoder does not load, its tokenizer cannot pad, or a line of the word
            vectors is wrong.
    """
    pooling = pooling and check_pooling(pooling)
    if name.startswith(RANDOM):
        raise EaseError(f"{name!r} cannot be loaded: give an encoder's folder or hub name, or train `{RANDOM}`.")
    if is_vector_file(name):
        if pooling not in (None, "mean"):
            raise EaseError(f"Word vectors such as {name!r} have no pooling {pooling!r}: set `pooling: mean`.")
        if revision is not None:
            raise EaseError(f"{name!r} is a file, which has no revision: remove `revision`.")
        return load_word_vectors(Path(name), stop_words=stop_words).to(dtype)
    if stop_words:
        raise EaseError(f"`stop_words` is for word vectors, and {name!r} is not a file of them: remove it.")
    encoder = _loaded(name, revision, dtype)
    published = recognise(name)
    if published is None:
        _note_name(name)
    else:
        _add_prompts(encoder, published)
        # An encoder that was saved with its modules keeps them. Weights of Dense layers are in no file of the project.
        if not is_sentence_encoder(name) and not published.dense:
            set_pooling(encoder, published.pooling)
            if published.normalize:
                encoder.append(Normalize())
    if pooling is not None:
        set_pooling(encoder, pooling, seed)
    return encoder


def _note_name(name: str) -> None:
    """Log why a folder that is named like a published encoder does not get its prompts."""
    if Path(name).is_dir() and last_part(name) in known_names():
        logger.info(
            "%s is named like a published encoder, but nothing in it says that it is this encoder, so its prompts and "
            "pooling are those that it was saved with: name the encoder as `base_model` in its README.md to add those "
            "published.",
            name,
        )


def _add_prompts(encoder: SentenceTransformer, published: KnownEncoder) -> None:
    """Add the prompts of a published encoder's file to those that the encoder was saved with, which take precedence."""
    # sentence-transformers saves empty prompts for queries and documents with every encoder; others are meant.
    saved = {prompt: text for prompt, text in encoder.prompts.items() if text or prompt not in ("query", "document")}
    encoder.prompts = {**encoder.prompts, **published.prompts, **saved}
    if encoder.default_prompt_name is None and published.default_prompt is not None:
        encoder.default_prompt_name = published.default_prompt


def describe_prompts(encoder: SentenceTransformer) -> str:
    """Return a sentence on the prompts in training and in MTEB's types of tasks, for logs and model cards."""
    default = encoder.default_prompt_name
    by_use = {"training": prompt_named(encoder.prompts, default)}
    for task_type in TASK_TYPES:
        # In retrieval, queries and documents have their own.
        if task_type != "Retrieval":
            by_use[task_type] = prompt_for(encoder.prompts, default, Use("", task_type))
    return f"Prompts before sentences: {summarize_prompts(by_use)}."


def release_encoders() -> None:
    """Free the memory of large encoders that are no longer used.

    They have cycles of references, which Python's collector finds late: it counts objects, and a gigabyte of weights
    and vocabulary is few.
    """
    if _large_encoders:
        gc.collect()


def _loaded(name: str, revision: str | None, dtype: torch.dtype | None) -> SentenceTransformer:
    """Load an encoder from a folder or the hub, and check what was loaded."""
    release_encoders()
    try:
        place = place_of(name, revision)
        commit = commit_of(name, revision) or revision
        model_options = None
        if dtype is not None:
            model_options = {"dtype": dtype}
        check_local_files(name, commit)
        # Seeded: weights that the model was saved without, such as those of a pooler, are drawn at random.
        with READING, no_progress_bars(), seeded(0):
            encoder = SentenceTransformer(place, device="cpu", revision=commit, model_kwargs=model_options)
        if dtype is not None:
            # The option is the transformer's alone; later modules are converted here.
            encoder = encoder.to(dtype)
        if sum(weights.numel() for weights in encoder.parameters()) >= LARGE_ENCODER:
            _large_encoders.add(encoder)
        check_saved(name, commit)
        _check_finite(encoder)
        first = encoder[0]
        if isinstance(first, Transformer):
            check_tokenizer(encoder.tokenizer, first.model.config)
            check_length(encoder.max_seq_length)
    except Exception as error:  # whatever libraries raise for the files of others
        if Path(name).is_dir():
            # The checks say what is wrong, where a library's text often does not.
            check_encoder(name)
        raise EaseError(cannot_load(name, error)) from error
    if isinstance(first, Transformer) and encoder.tokenizer.pad_token is None:  # as of many decoders
        if encoder.tokenizer.eos_token is None:
            raise EaseError(f"The tokenizer of {name!r} has no padding token: set its `pad_token` and save it again.")
        encoder.tokenizer.pad_token = encoder.tokenizer.eos_token
    return encoder


def _check_finite(encoder: SentenceTransformer) -> None:
    """Refuse weights that are not finite: every embedding would be NaN, and every score."""
    for weight_name, weight in encoder.named_parameters():
        if not weight.isfinite().all():
            raise ValueError(f"its weights `{weight_name}` hold NaN or infinite numbers: get them from another place")


def set_pooling(encoder: SentenceTransformer, pooling: str, seed: int = 0) -> None:
    """Replace all modules after the transformer by those of a pooling, in place; `seed` determines their weights."""
    transformer = encoder[0]
    if not isinstance(transformer, Transformer):
        raise EaseError(
            f"The encoder begins with {type(transformer).__name__}, not a transformer, so no pooling fits: "
            "set `pooling: null` to keep the encoder as it is."
        )
    _replace_modules(encoder, [transformer, *pooling_modules(pooling, transformer, seed)])


def _replace_modules(encoder: SentenceTransformer, modules: Iterable[nn.Module]) -> None:
    encoder._modules.clear()
    encoder.extend(modules)


def save_encoder(encoder: SentenceTransformer, folder: Path, card: str | None = None) -> None:
    """Save in the format of sentence-transformers with safetensors and a model card; not atomic."""
    with no_progress_bars(), report_write_errors(folder):
        encoder.save(str(folder), create_model_card=False, safe_serialization=True)
        if card is not None:
            (folder / "README.md").write_text(card, encoding="utf-8")


def embedding_dimension(encoder: SentenceTransformer) -> int:
    """Dimension of the sentence embeddings."""
    dimension = encoder.get_embedding_dimension()
    if dimension is None:
        raise EaseError("The encoder does not report the dimension of its embeddings: set a `pooling`.")
    return int(dimension)


def load_for_evaluation(name: str, options: LoadingOptions) -> SentenceTransformer:
    """Load an encoder as it was saved and as its file in `ease/encoders/known` says, except for the options given."""
    dtype = None
    if options.precision is not None:
        dtype = DTYPES[options.precision]
    encoder = load_encoder(name, options.pooling, stop_words=options.stop_words, revision=options.revision, dtype=dtype)
    if options.normalize is not None:
        _replace_modules(encoder, [module for module in encoder if not isinstance(module, Normalize)])
        if options.normalize:
            encoder.append(Normalize())
    if options.dimension is not None:
        # The encoder may have been saved truncated; its dimension is reported as that of the truncated embeddings.
        encoder.truncate_dim = None
        full = embedding_dimension(encoder)
        if options.dimension > full:
            raise EaseError(
                f"{name} has {full} dimensions: set `dimension` to at most {full}, not {options.dimension}."
            )
        encoder.truncate_dim = options.dimension
    if options.max_length is not None:
        _shorten(encoder, name, options.max_length)
    encoder.prompts, encoder.default_prompt_name = merged_prompts(
        encoder.prompts, options.prompts, encoder.default_prompt_name
    )
    if options.default_prompt is not None:
        check_default(options.default_prompt, encoder.prompts)
        encoder.default_prompt_name = options.default_prompt
    return encoder


def _shorten(encoder: SentenceTransformer, name: str, length: int) -> None:
    """Set the maximum number of tokens, which must not exceed the positions of the transformer."""
    transformer = encoder[0]
    if not isinstance(transformer, Transformer):
        raise EaseError(f"{name} accepts texts of any length: remove `max_length`.")
    config = transformer.model.config
    offset = 0
    if config.model_type in ("roberta", "xlm-roberta", "camembert"):
        # RoBERTa numbers positions from its padding token's on.
        offset = 1 + config.pad_token_id
    most = (getattr(config, "max_position_embeddings", None) or math.inf) - offset
    if length > most:
        raise EaseError(f"{name} accepts at most {most} tokens: set `max_length` to that or less, not {length}.")
    encoder.max_seq_length = length


def describe_encoder(encoder: SentenceTransformer, name: str, revision: str | None = None) -> dict[str, Any]:
    """Return how an encoder embeds texts, to be saved with its scores; the revision of a hub's model is its commit."""
    return {
        "revision": commit_of(name, revision),
        "used_pooling": _describe_pooling(encoder),
        "normalized": any(isinstance(module, Normalize) for module in encoder),
        "embedding_dimension": embedding_dimension(encoder),
        "precision": _describe_precision(encoder),
        "max_length": _length_limit(encoder),
    }


def _describe_pooling(encoder: SentenceTransformer) -> str | None:
    pooling = next((module for module in encoder if isinstance(module, Pooling)), None)
    if pooling is None:
        return None
    if isinstance(pooling.pooling_mode, str):
        return pooling.pooling_mode
    return "+".join(pooling.pooling_mode)


def _describe_precision(encoder: SentenceTransformer) -> str | None:
    first_weight = next(encoder.parameters(), None)
    if first_weight is None:
        return None
    precisions = {dtype: precision for precision, dtype in DTYPES.items()}
    return precisions.get(first_weight.dtype, str(first_weight.dtype))


def _length_limit(encoder: SentenceTransformer) -> int | None:
    length = encoder.max_seq_length
    # Word vectors have no limit, which some encoders give as infinity.
    if length is None or math.isinf(length):
        return None
    return int(length)
