"""Encoding of sentences with deduplication, longest first, and a cache on disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import sentence_transformers
import torch
import transformers
from sentence_transformers import SentenceTransformer
from tqdm.auto import tqdm

from ease.encoders.embedding_cache import EmbeddingCache
from ease.encoders.encoder import embedding_dimension, load_encoder
from ease.encoders.options import EncodingOptions
from ease.encoders.static import encode_static, is_static
from ease.evaluation.search import best_device
from ease.io.cache_users import note_user
from ease.io.result_versions import EMBEDDINGS

CHUNK = 256
"""Batches a write to the cache."""
STREAMED = 8192
"""Sentences of a stream encoded at a time."""


@dataclass(frozen=True, eq=False)
class Encoding:
    """A function from n sentences to their embeddings, (n, dimension) float32."""

    encoder: SentenceTransformer
    """For tasks that train a copy of it"""
    batch_size: int
    name: str
    cache: EmbeddingCache | None

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Encode each distinct sentence once."""
        distinct = {sentence: row for row, sentence in enumerate(dict.fromkeys(sentences))}
        embeddings = _encode_distinct(self.encoder, list(distinct), self.cache, self.batch_size, self.name)
        if len(distinct) == len(sentences):
            return embeddings
        return embeddings[[distinct[sentence] for sentence in sentences]]


def encode_with(
    encoder: SentenceTransformer | Path,
    options: EncodingOptions | None = None,
    name: str = "encoding",
    source: str | Path | None = None,
) -> Encoding:
    """Return a function from n sentences to their embeddings, (n, dimension) float32.

    Args:
        encoder: An encoder, or its folder, which is loaded onto the GPU if there is one.
        options: Batch size and cache; no cache by default.
        name: Title of the progress bar.
        source: Folder or hub name of an encoder in memory; recorded beside the cache.
    """
    options = options or EncodingOptions()
    if isinstance(encoder, SentenceTransformer):
        model = encoder
    else:
        source = encoder
        model = load_encoder(str(encoder)).to(best_device())
    batch_size = options.batch_size or (32 if model.device.type == "cpu" else 256)
    cache = None
    if options.cache is not None:
        key = fingerprint(model)
        cache = EmbeddingCache(options.cache / f"{EMBEDDINGS}-{key}.sqlite")
        if source is not None:
            note_user(options.cache, key, source)
    return Encoding(model, batch_size, name, cache)


def encode_stream(
    encoder: SentenceTransformer, sentences: Iterable[str], batch_size: int | None = None
) -> Iterator[np.ndarray]:
    """Yield the embeddings of a stream of sentences, (up to `STREAMED`, dimension) at a time."""
    encode, rest = encode_with(encoder, EncodingOptions(batch_size=batch_size)), iter(sentences)
    while batch := list(islice(rest, STREAMED)):
        yield encode(batch)


def fingerprint(model: SentenceTransformer) -> str:
    """Hash everything that embeddings depend on: weights, tokenizer, modules, prompts, device, libraries, code."""
    digest = hashlib.sha256()
    about: dict[str, Any] = {
        "modules": [[repr(module), getattr(module, "get_config_dict", dict)()] for module in model],
        "longest": model.max_seq_length,
        "prompts": [model.prompts, model.default_prompt_name],
        "device": model.device.type,
        "libraries": [torch.__version__, transformers.__version__, sentence_transformers.__version__],
        "code": EMBEDDINGS,
        "tokenizer": _describe_tokenizer(model.tokenizer),
    }
    digest.update(json.dumps(about, sort_keys=True, default=str).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        # A tensor without dimensions cannot be viewed as bytes.
        digest.update(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:32]


def _describe_tokenizer(tokenizer: object) -> str:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        # Encoding sets padding and truncation by the model's maximum length, which is hashed separately.
        described = json.loads(backend.to_str())
        return json.dumps({**described, "padding": None, "truncation": None}, sort_keys=True)
    vocabulary: Any = getattr(tokenizer, "get_vocab", dict)()
    return f"{tokenizer!r} {vocabulary if isinstance(vocabulary, list) else sorted(vocabulary.items())}"


def _encode_distinct(
    model: SentenceTransformer, sentences: list[str], cache: EmbeddingCache | None, batch_size: int, name: str
) -> np.ndarray:
    """Encode sentences that are not in the cache, longest first, so that memory errors occur early."""
    embeddings = np.empty((len(sentences), embedding_dimension(model)), dtype=np.float32)
    known = np.zeros(len(sentences), dtype=bool)
    for position, vector in cache.read(sentences) if cache else ():
        embeddings[position], known[position] = vector, True
    missing = sorted(np.flatnonzero(~known).tolist(), key=lambda row: -len(sentences[row]))
    with tqdm(total=len(missing), desc=name, unit="sentence", delay=2, leave=False, disable=None) as bar:
        for start in range(0, len(missing), CHUNK * batch_size):
            rows = missing[start : start + CHUNK * batch_size]
            texts = [sentences[row] for row in rows]
            if is_static(model):
                embeddings[rows] = encode_static(model, texts)
            else:
                embeddings[rows] = model.encode(texts, batch_size=batch_size, show_progress_bar=False)
            if cache:
                cache.write(texts, embeddings[rows])
            bar.update(len(rows))
    return embeddings
