"""Encoding of sentences with deduplication, batches of similar length, and a cache on disk."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import os
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import sentence_transformers
import torch
import transformers
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Router, StaticEmbedding, Transformer
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedTokenizerBase

from ease.device import best_device
from ease.encoders.attention import use_cpu_attention
from ease.encoders.batches import (
    GPU_SENTENCES,
    HALF_TOKENS,
    advise_on_full_memory,
    encode_batches,
    in_smaller_batches,
    make_batches,
)
from ease.encoders.encoder import embedding_dimension, load_encoder
from ease.encoders.onednn import pack_weights
from ease.encoders.options import EncodingOptions, EncodingPrecision
from ease.encoders.precision import faster_cpu_precision
from ease.encoders.prompts import ROLES, Use, prompt_for
from ease.encoders.saved import note_user
from ease.encoders.token_batches import TokenBatches, copied, encode_by_ids
from ease.errors import EaseError
from ease.io.files import report_write_errors
from ease.io.progress import ProgressBar
from ease.similarity.encode import Role

logger = logging.getLogger(__name__)

EMBEDDINGS_VERSION = 6
"""Raise it if an encoder now gives other embeddings: cached embeddings, and scores computed from them, are stale."""
UNIT = 8192
"""Sentences that a GPU encodes between two yields, and the least number that is written to the cache at once."""


@dataclass(frozen=True, eq=False)
class Encoding:
    """A function from n sentences to their embeddings, (n, dimension) float32."""

    encoder: SentenceTransformer
    """As it was loaded; tasks may train a copy of it"""
    computing: SentenceTransformer
    """The encoder, or its copy in bf16, that computes the embeddings"""
    batch_size: int | None
    """Sentences encoded at once; None: as many as suit the device"""
    precision: EncodingPrecision
    name: str
    cache: EmbeddingCache | None
    use: Use

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Encode each distinct sentence once, and those in the cache not at all."""
        _check_sentences(sentences)
        places = {sentence: row for row, sentence in enumerate(dict.fromkeys(sentences))}
        distinct = list(places)
        embeddings = np.empty((len(distinct), embedding_dimension(self.encoder)), dtype=np.float32)
        self._fill(distinct, embeddings)
        if len(distinct) == len(sentences):
            return embeddings
        return embeddings[[places[sentence] for sentence in sentences]]

    def _fill(self, sentences: list[str], embeddings: np.ndarray) -> None:
        """Fill rows of embeddings, (n, dimension), with those of n distinct sentences; cache what is encoded."""
        keys = self._keys(sentences)
        is_cached = np.zeros(len(sentences), dtype=bool)
        if self.cache is not None:
            for position, vector in self.cache.read(keys):
                embeddings[position] = vector
                is_cached[position] = True
        missing = np.flatnonzero(~is_cached)
        unwritten: list[NDArray[np.int64]] = []

        def write(least: int) -> None:
            if self.cache and sum(map(len, unwritten)) >= least:
                rows = np.concatenate(unwritten)
                self.cache.write([keys[row] for row in rows], embeddings[rows])
                unwritten.clear()

        with (
            ProgressBar(total=len(missing), desc=self.name, unit="sentence", delay=2) as bar,
            closing(self._encode([sentences[row] for row in missing])) as encoded,
        ):
            for rows, vectors in encoded:
                embeddings[missing[rows]] = vectors
                bar.update(len(rows))
                unwritten.append(missing[rows])
                # Some at a time: an interrupted encoding goes on from there, and a transaction each would be slow.
                write(UNIT)
        write(1)

    def for_task(self, task: str, task_type: str) -> Encoding:
        """Return the function for the texts of a task."""
        return replace(self, use=Use(task, task_type))

    def in_role(self, role: Role) -> Encoding:
        """Return the function for queries or passages."""
        return replace(self, use=self.use._replace(role=role))

    @property
    def prompt(self) -> str:
        """The text before each sentence."""
        return prompt_for(self.encoder.prompts, self.encoder.default_prompt_name, self.use)

    def describe_prompts(self) -> str:
        """Return the text before sentences; for a retrieval task, those before queries and passages."""
        if self.use.task_type != "Retrieval":
            return self.prompt
        texts = {role: self.in_role(role).prompt for role in ROLES}
        return "; ".join(f"{role}: {text!r}" for role, text in texts.items() if text)

    def _encode(self, sentences: list[str]) -> Generator[tuple[NDArray[np.int64], np.ndarray]]:
        """Yield rows with their embeddings, the longest first, so that memory errors occur early."""
        if not sentences:
            return
        batch_rows = self._batch_rows(sentences)
        batches = [[sentences[row] for row in rows] for rows in batch_rows]
        with (
            advise_on_full_memory("A single sentence needs more: use a larger device or a smaller encoder."),
            _products(self.precision, self.computing.device),
            # Closed also if the caller stops early, so that threads end.
            closing(self._encode_batches(batches)) as embeddings,
        ):
            yield from zip(batch_rows, embeddings, strict=True)

    @property
    def _averages_tokens(self) -> bool:
        """Whether `encode_static` may encode the sentences, which supports neither prompts nor other precisions."""
        return is_static(self.encoder) and not self.prompt and self.encoder.dtype == torch.float32

    def _batch_rows(self, sentences: list[str]) -> list[NDArray[np.int64]]:
        """Return the rows of each batch; static encoders and GPUs get batches of `UNIT`, which are divided later."""
        if not self._averages_tokens and not has_own_memory(self.computing.device):
            return make_batches(self.computing, sentences, self.batch_size)
        order = np.argsort([-len(sentence) for sentence in sentences], kind="stable")
        return [order[start : start + UNIT] for start in range(0, len(order), UNIT)]

    def _encode_batches(self, batches: list[list[str]]) -> Generator[np.ndarray]:
        """Return the embeddings of each batch, in the way that is fastest on the device."""
        if self._averages_tokens:
            return (encode_static(self.encoder, texts) for texts in batches)
        model = self.computing
        prompt = self.prompt
        role: dict[str, Any] = {}
        if self.use.role is not None:
            # A router (in asymmetric encoders) chooses its modules by this.
            role["task"] = ROLES[self.use.role][0]

        @in_smaller_batches
        def encode(texts: Sequence[str]) -> Tensor:
            embeddings = model.encode(
                list(texts),
                prompt=prompt,
                batch_size=len(texts),
                show_progress_bar=False,
                convert_to_tensor=True,
                **role,
            )
            return _single(model, embeddings)

        if not has_own_memory(model.device):
            return encode_batches(model, encode, batches)
        token_batches = TokenBatches(model, self.batch_size, prompt, role)
        if token_batches.agrees(batches[0]):
            return copied(_single(model, unit) for unit in encode_by_ids(token_batches, batches))
        size = self.batch_size or GPU_SENTENCES

        def encode_unit(texts: list[str]) -> Tensor:
            return torch.cat([encode(texts[start : start + size]) for start in range(0, len(texts), size)])

        return copied(map(encode_unit, batches))

    def _keys(self, sentences: list[str]) -> list[str]:
        """Return the cache's keys: the role if a router reads it, the prompt, the sentence, joined by NUL."""
        prefixes: list[str] = []
        if self.use.role and any(isinstance(module, Router) for module in self.encoder):
            prefixes.append(self.use.role)
        if self.prompt:
            prefixes.append(self.prompt)
        if not prefixes:
            return sentences
        return ["\0".join([*prefixes, sentence]) for sentence in sentences]


def _check_sentences(sentences: Sequence[str]) -> None:
    """Refuse what tokenizers would: a text in place of a list of texts, other values, and halves of a character."""
    if isinstance(sentences, str):
        raise EaseError("An encoder reads a list of sentences: put the text into a list.")
    for number, sentence in enumerate(sentences):
        if not isinstance(sentence, str):
            raise EaseError(f"Sentence {number} is {sentence!r:.60}: give texts.")
        if not sentence.isascii():
            try:
                sentence.encode()
            except UnicodeEncodeError as error:
                raise EaseError(f"Sentence {number}, {sentence!r:.60}, is not Unicode: {error.reason}.") from error


def has_own_memory(device: torch.device) -> bool:
    """Return whether a device is a GPU, which computes while the host goes on."""
    return device.type != "cpu"


@contextmanager
def _products(precision: EncodingPrecision, device: torch.device) -> Iterator[None]:
    """Set the precision of a GPU's matrix products in this block."""
    before = torch.get_float32_matmul_precision()
    if precision == "tf32" and device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def choose_precision(encoder: SentenceTransformer, options: EncodingOptions) -> EncodingPrecision:
    """Return the precision in which an encoder computes on its device, and log the choice of `auto` with its reason."""
    if options.precision != "auto":
        return options.precision
    # Weights in half precision stay as they are.
    if encoder.device.type != "cpu" or encoder.dtype != torch.float32:
        return "fp32"
    precision, reason = faster_cpu_precision(encoder)
    _log_precision(precision, reason)
    return precision


@cache
def _log_precision(precision: EncodingPrecision, reason: str) -> None:
    """Log it once: a run encodes with many encoders, alike."""
    logger.info("Encoding in %s (%s)", precision, reason)


def in_precision(model: SentenceTransformer, precision: EncodingPrecision) -> SentenceTransformer:
    """Return an encoder with weights of a precision: itself, or a copy that shares the tokenizer.

    A copy in bf16 computes faster than autocast, which casts the inputs of each layer, and also the weights where they
    need no gradient; layer norms and residuals stay in single precision. On a CPU, the copy's attention and layers are
    this package's.
    """
    if precision != "bf16" or is_static(model):
        return model
    # `deepcopy` does not copy what is in its memo: the weights in single precision never exist twice.
    memo: dict[int, Any] = {id(model.tokenizer): model.tokenizer}
    for tensor in model.state_dict(keep_vars=True).values():
        if tensor.is_floating_point():
            half = tensor.detach().to(torch.bfloat16)
            if isinstance(tensor, nn.Parameter):
                half = nn.Parameter(half, requires_grad=False)
            memo[id(tensor)] = half
    half_model = copy.deepcopy(model, memo)
    if model.device.type == "cpu":
        use_cpu_attention(half_model)
        pack_weights(half_model, HALF_TOKENS)
    return half_model


def _single(model: SentenceTransformer, embeddings: Tensor) -> Tensor:
    """Return embeddings in single precision, normalised again if truncation or bf16 changed the length 1."""
    embeddings = embeddings.float()
    is_rounded = model.truncate_dim is not None or model.dtype != torch.float32
    if is_rounded and isinstance(model[-1], Normalize):
        return functional.normalize(embeddings)
    return embeddings


def encode_with(
    encoder: SentenceTransformer | Path,
    options: EncodingOptions | None = None,
    name: str = "encoding",
    source: str | Path | None = None,
) -> Encoding:
    """Return a function from n sentences to their embeddings, (n, dimension) float32.

    Args:
        encoder: An encoder, or its folder, which is loaded onto the GPU if there is one.
        options: Batch size, precision and cache. Default: fp32, which does not depend on the CPU, and no cache.
        name: Title of the progress bar.
        source: Folder or hub name of an encoder in memory; recorded beside the cache.
    """
    options = options or EncodingOptions(precision="fp32")
    if not isinstance(encoder, SentenceTransformer):
        source = encoder
        encoder = move_to_device(load_encoder(str(encoder)))
    precision = choose_precision(encoder, options)
    cache = None
    if options.cache is not None:
        key = fingerprint(encoder, precision)
        cache = EmbeddingCache(options.cache / f"{EMBEDDINGS_VERSION}-{key}.sqlite")
        if source is not None:
            note_user(options.cache, key, source)
    computing = in_precision(encoder, precision)
    return Encoding(encoder, computing, options.batch_size, precision, name, cache, Use())


def encode_stream(
    encoder: SentenceTransformer, sentences: Iterable[str], batch_size: int | None = None
) -> Iterator[np.ndarray]:
    """Yield the embeddings of a stream of sentences, (up to `UNIT`, dimension) at a time."""
    # A saved encoder depends on what is computed from these embeddings, and should not depend on the CPU.
    encode = encode_with(encoder, EncodingOptions(batch_size=batch_size, precision="fp32"))
    remaining = iter(sentences)
    while batch := list(islice(remaining, UNIT)):
        yield encode(batch)


def fingerprint(model: SentenceTransformer, precision: EncodingPrecision = "fp32") -> str:
    """Hash everything that embeddings depend on: weights, tokenizer, modules, prompts, device, libraries, code."""
    digest = hashlib.sha256()
    configuration = {}
    if isinstance(model[0], Transformer):
        # Such as the number of heads, without the place where the encoder was saved.
        configuration = model[0].config.to_dict()
    for unrelated in ("_name_or_path", "transformers_version"):
        configuration.pop(unrelated, None)
    described: dict[str, Any] = {
        "modules": [[repr(module), getattr(module, "get_config_dict", dict)()] for module in model],
        "configuration": configuration,
        "longest": model.max_seq_length,
        "prompts": [model.prompts, model.default_prompt_name],
        "device": model.device.type,
        "libraries": [torch.__version__, transformers.__version__, sentence_transformers.__version__],
        "code": EMBEDDINGS_VERSION,
        "tokenizer": _describe_tokenizer(model.tokenizer),
    }
    # Absent by default, so that caches of encoders without them stay valid.
    if model.truncate_dim is not None:
        described["truncated"] = model.truncate_dim
    if precision != "fp32":
        described["precision"] = precision
    if model.device.type == "cuda":
        described["products"] = torch.get_float32_matmul_precision()
    digest.update(json.dumps(described, sort_keys=True, default=str).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        # A tensor without dimensions cannot be viewed as bytes.
        digest.update(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:32]


def _describe_tokenizer(tokenizer: object) -> list[Any]:
    side = getattr(tokenizer, "padding_side", None)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        # Encoding sets padding and truncation by the model's maximum length, which is hashed separately.
        return [side, {**json.loads(backend.to_str()), "padding": None, "truncation": None}]
    entries: Any = getattr(tokenizer, "get_vocab", dict)()
    if not isinstance(entries, list):
        entries = sorted(entries.items())
    # The representation of a tokenizer of transformers has its folder.
    if isinstance(tokenizer, PreTrainedTokenizerBase):
        return [side, type(tokenizer).__name__, tokenizer.special_tokens_map, entries]
    return [side, repr(tokenizer), entries]


STATIC_TEXTS = 1024
"""Texts that a thread tokenises and averages at a time"""


def is_static(encoder: SentenceTransformer) -> bool:
    """Return whether an encoder is static (it only averages one vector per token) and on the CPU."""
    if len(encoder) != 1 or type(encoder[0]) is not StaticEmbedding:
        return False
    return encoder.device.type == "cpu" and not encoder.default_prompt_name and encoder.truncate_dim is None


def encode_static(encoder: SentenceTransformer, texts: Sequence[str]) -> np.ndarray:
    """Encode texts by a static encoder: (n, dimension) float32, equal to those of `SentenceTransformer.encode`.

    That method also computes the characters of each token and one tensor per text, which takes longer.
    """
    module: Any = encoder[0]

    def encode(part: Sequence[str]) -> np.ndarray:
        encoded = module.tokenizer.encode_batch_fast(list(part), add_special_tokens=False)
        ids = [text.ids for text in encoded]
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        tokens = np.fromiter(chain.from_iterable(ids), np.int64, int(lengths.sum()))
        offsets = np.cumsum(lengths) - lengths
        with torch.inference_mode():
            rows: np.ndarray = module.embedding(torch.from_numpy(tokens), torch.from_numpy(offsets)).numpy()
        return rows

    # Neither the tokenizer nor torch holds Python's lock while it computes.
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        parts = (texts[start : start + STATIC_TEXTS] for start in range(0, len(texts), STATIC_TEXTS))
        return np.concatenate(list(pool.map(encode, parts)))


def move_to_device(encoder: SentenceTransformer) -> SentenceTransformer:
    """Move an encoder to the GPU where there is one; a static one stays on the CPU, where it encodes faster."""
    if is_static(encoder):
        return encoder
    return encoder.to(best_device())


class EmbeddingCache:
    """Embeddings of one model in an SQLite file, written atomically."""

    def __init__(self, file: Path) -> None:
        """Open the file or create it."""
        self._file = file
        with report_write_errors(file):
            file.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as database:
            database.execute("CREATE TABLE IF NOT EXISTS embeddings (sentence BLOB PRIMARY KEY, vector BLOB)")

    def read(self, sentences: Sequence[str]) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the position and the embedding, (dimension,) float32, of each cached sentence."""
        with self._open() as database:
            # A join reads any number of keys in one query; a query has a limited number of parameters.
            database.execute("CREATE TEMP TABLE requests (position INTEGER, sentence BLOB)")
            database.executemany("INSERT INTO requests VALUES (?, ?)", enumerate(map(_key_of, sentences)))
            cached = database.execute("SELECT position, vector FROM requests JOIN embeddings USING (sentence)")
            for position, vector in cached:
                yield position, np.frombuffer(vector, dtype=np.float32)

    def write(self, sentences: Sequence[str], embeddings: np.ndarray) -> None:
        """Write embeddings, (n, dimension) float32, in one transaction."""
        vectors = (row.tobytes() for row in np.ascontiguousarray(embeddings, dtype=np.float32))
        rows = zip(map(_key_of, sentences), vectors, strict=True)
        with self._open() as database:
            database.executemany("INSERT OR IGNORE INTO embeddings VALUES (?, ?)", rows)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Begin a transaction."""
        try:
            with closing(sqlite3.connect(self._file, timeout=60.0)) as database, database:
                yield database
        except sqlite3.Error as error:
            raise EaseError(
                f"{self._file}: the cache of embeddings cannot be used ({error}): free disk space, or delete the file, "
                "after which sentences are encoded again."
            ) from error


def _key_of(sentence: str) -> bytes:
    """Return a 128-bit hash of the sentence."""
    return hashlib.blake2b(sentence.encode(), digest_size=16).digest()
