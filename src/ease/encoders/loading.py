"""Loading of encoders for evaluation, with their own settings or given options, and a record of the settings used."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

from ease.encoders.check import commit_of
from ease.encoders.encoder import embedding_dimension, load_encoder
from ease.encoders.options import LoadingOptions
from ease.encoders.prompts import check_default, merged_prompts
from ease.errors import EaseError

if TYPE_CHECKING:
    import torch


def load_for_evaluation(name: str, options: LoadingOptions) -> SentenceTransformer:
    """Load an encoder as it was saved and as its file in `ease/encoders/known` says, except for the options given.

    Args:
        name: A hub name, a folder, or a text file of word vectors.
        options: Values that replace the encoder's own.

    Raises:
        EaseError: If the encoder does not load, or an option does not fit it.
    """
    encoder = load_encoder(
        name,
        options.pooling,
        stop_words=options.stop_words,
        revision=options.revision,
        dtype=_dtypes()[options.precision] if options.precision else None,
    )
    if options.normalize is not None:
        _set_normalization(encoder, options.normalize)
    if options.dimension is not None:
        _truncate(encoder, name, options.dimension)
    if options.max_length is not None:
        _shorten(encoder, name, options.max_length)
    encoder.prompts, encoder.default_prompt_name = merged_prompts(
        encoder.prompts, options.prompts, encoder.default_prompt_name
    )
    if options.default_prompt is not None:
        check_default(options.default_prompt, encoder.prompts)
        encoder.default_prompt_name = options.default_prompt
    return encoder


def describe_encoder(encoder: SentenceTransformer, name: str, revision: str | None = None) -> dict[str, Any]:
    """Return how an encoder embeds texts, to be saved with its scores.

    Args:
        encoder: The loaded encoder.
        name: Its hub name, folder or file. For a model of the hub, `revision` in the result is the commit.
        revision: The requested commit, branch or tag.
    """
    pooling = next((module for module in encoder if isinstance(module, Pooling)), None)
    precisions = {dtype: precision for precision, dtype in _dtypes().items()}
    dtype = next((weight.dtype for weight in encoder.parameters()), None)
    length = encoder.max_seq_length  # None or infinite without a limit
    return {
        "revision": commit_of(name, revision),
        "used_pooling": None if pooling is None else _joined(pooling.pooling_mode),
        "normalized": any(isinstance(module, Normalize) for module in encoder),
        "embedding_dimension": embedding_dimension(encoder),
        "precision": None if dtype is None else precisions.get(dtype, str(dtype)),
        "max_length": None if length is None or math.isinf(length) else int(length),
    }


def _joined(modes: str | list[str]) -> str:
    return modes if isinstance(modes, str) else "+".join(modes)


def _dtypes() -> dict[str, torch.dtype]:
    import torch

    return {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def _set_normalization(encoder: SentenceTransformer, normalized: bool) -> None:
    """Remove all normalising modules, and append one if embeddings are to be normalised."""
    kept = [module for module in encoder if not isinstance(module, Normalize)]
    encoder._modules.clear()
    for position, module in enumerate([*kept, *([Normalize()] if normalized else [])]):
        encoder.add_module(str(position), module)


def _truncate(encoder: SentenceTransformer, name: str, dimension: int) -> None:
    encoder.truncate_dim = None
    own = embedding_dimension(encoder)
    if dimension > own:
        raise EaseError(f"{name} has {own} dimensions: set `dimension` to at most {own}, not {dimension}.")
    encoder.truncate_dim = dimension


def _shorten(encoder: SentenceTransformer, name: str, length: int) -> None:
    """Set the maximum number of tokens, which must not exceed the positions of the transformer."""
    transformer = encoder[0]
    if not isinstance(transformer, Transformer):
        raise EaseError(f"{name} accepts texts of any length: remove `max_length`.")
    config = transformer.model.config
    positions = getattr(config, "max_position_embeddings", None)
    # RoBERTa numbers positions from its padding token's on.
    offset = 1 + config.pad_token_id if config.model_type in ("roberta", "xlm-roberta", "camembert") else 0
    if positions is not None and length > positions - offset:
        raise EaseError(
            f"{name} accepts at most {positions - offset} tokens: set `max_length` to that or less, not {length}."
        )
    encoder.max_seq_length = length
