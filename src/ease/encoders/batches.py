"""Batches of sentences of similar length, which several threads encode on a CPU."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from ease.encoders.onednn import has_onednn, onednn_products
from ease.errors import EaseError

logger = logging.getLogger(__name__)

TOKENS = 1024
"""Tokens of a batch on a CPU; its activations fit the caches of a core"""
HALF_TOKENS = 2048
"""The same in half precision, whose activations take half the memory"""
CPU_SENTENCES = 32
"""Sentences of a batch on a CPU if their tokens cannot be counted"""
GPU_SENTENCES = 256
"""Sentences of a batch on a GPU if an encoder tokenises them itself"""
COUNTED = 8192
"""Sentences whose tokens are counted at a time"""
THREADS = 16
"""Maximum number of threads that encode; Python's lock limits the gain of more"""
STATELESS = frozenset(("albert", "bert", "camembert", "distilbert", "electra", "mpnet", "roberta", "xlm-roberta"))
"""Architectures whose layers keep nothing from call to call, so that threads can share them"""
PACKAGES = ("ease", "sentence_transformers", "torch", "transformers")
"""Packages of layers that are known to keep nothing"""


def make_batches(encoder: SentenceTransformer, sentences: list[str], size: int | None) -> list[NDArray[np.int64]]:
    """Return the rows of each batch, longest first, so that memory errors occur early.

    A batch has `size` sentences; None: as many as have `TOKENS` or `HALF_TOKENS` tokens by the encoder's tokenizer.
    Without a fast tokenizer, lengths are in characters.
    """
    tokens = TOKENS if encoder.dtype == torch.float32 else HALF_TOKENS
    tokenizer = getattr(encoder, "tokenizer", None)
    if isinstance(tokenizer, PreTrainedTokenizerFast):
        lengths = _count_tokens(tokenizer, sentences, encoder.max_seq_length)
    else:
        # The number of tokens is unknown, so that only a number of sentences can bound a batch.
        size = size or CPU_SENTENCES
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    order = np.argsort(-lengths, kind="stable")
    batches = []
    start = 0
    while start < len(order):
        # Sorted by length, the first sentence of a batch is its longest, to which the others are padded.
        longest = max(1, int(lengths[order[start]]))
        end = start + (size or max(1, tokens // longest))
        batches.append(order[start:end])
        start = end
    return batches


def _count_tokens(
    tokenizer: PreTrainedTokenizerFast, sentences: list[str], max_length: int | None
) -> NDArray[np.int64]:
    """Return the number of tokens of each sentence, after truncation."""
    counts: list[int] = []
    for start in range(0, len(sentences), COUNTED):
        encoded = tokenizer(
            sentences[start : start + COUNTED],
            truncation=bool(max_length),
            max_length=max_length or None,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )
        counts += map(len, encoded["input_ids"])
    return np.array(counts, dtype=np.int64)


def encode_batches(
    encoder: SentenceTransformer, encode: Callable[[Sequence[str]], Tensor], batches: list[list[str]]
) -> Generator[np.ndarray]:
    """Yield the embeddings of each batch, in order, computed by several threads, each with one thread of torch.

    They do not depend on the number of threads.
    """
    products: AbstractContextManager[None] = nullcontext()
    if encoder.dtype == torch.float32 and has_onednn() and not is_compiled(encoder):
        products = onednn_products(encoder)
    with products:
        if len(batches) < 2 or not can_share(encoder):
            yield from (encode(batch).numpy() for batch in batches)
            return
        threads = torch.get_num_threads()
        pool = ThreadPoolExecutor(min(threads, THREADS, len(batches)), initializer=torch.set_num_threads, initargs=(1,))
        try:
            # The first batch sets the tokenizer's padding, which must not change while other threads use it.
            yield pool.submit(encode, batches[0]).result().numpy()
            yield from (embeddings.numpy() for embeddings in pool.map(encode, batches[1:]))
        finally:
            pool.shutdown(cancel_futures=True)
            # New threads start with the number that any thread set last.
            torch.set_num_threads(threads)


def in_smaller_batches(
    encode: Callable[[Any], Tensor], width: Callable[[Any], int] = lambda batch: 1
) -> Callable[[Any], Tensor]:
    """Return a function that halves batches until they fit in memory; later batches are encoded in parts that fit.

    Args:
        encode: Encodes a batch, which has a length and can be sliced.
        width: Returns what a row of a batch takes of the memory, in any unit.
    """
    fitting: list[int] = []

    def encode_parts(batch: Any) -> Tensor:
        size = min([len(batch), *(max(1, most // width(batch)) for most in fitting)])
        if size < len(batch):
            parts = (batch[start : start + size] for start in range(0, len(batch), size))
            return torch.cat([encode_parts(part) for part in parts])
        try:
            return encode(batch)
        except RuntimeError as error:
            if size == 1 or not is_full_memory(error):
                raise
        # Outside of the handler: its error holds the frames, and with them the memory, of the failed attempt.
        logger.info("A batch of %d sentences does not fit in memory: encoding in halves.", size)
        fitting.append(-(-size // 2) * width(batch))
        return encode_parts(batch)

    return encode_parts


def can_share(encoder: SentenceTransformer) -> bool:
    """Return whether several threads can encode with one encoder at the same time.

    Its layers must be of known packages and architectures, without hooks and compilation, and its tokenizer one that
    works without Python's lock.
    """
    first = encoder[0]
    return (
        type(encoder) is SentenceTransformer
        and type(first) is Transformer
        and isinstance(first.model, torch.nn.Module)
        and getattr(first.config, "model_type", None) in STATELESS
        and isinstance(encoder.tokenizer, PreTrainedTokenizerFast)
        and not torch.is_autocast_enabled("cpu")
        and not is_compiled(encoder)
        and all(
            type(module).__module__.partition(".")[0] in PACKAGES
            and not (module._forward_hooks or module._forward_pre_hooks)
            for module in encoder.modules()
        )
    )


def is_compiled(encoder: SentenceTransformer) -> bool:
    """Return whether torch has compiled an encoder or one of its layers."""
    return any(
        module._compiled_call_impl is not None or type(module).__module__.startswith("torch._dynamo")
        for module in encoder.modules()
    )


def is_full_memory(error: RuntimeError) -> bool:
    """Return whether an error of torch says that a device has no more memory."""
    from accelerate.utils.memory import should_reduce_batch_size

    return bool(should_reduce_batch_size(error))


class FullMemoryError(EaseError):
    """Raised if a device has not enough memory."""


@contextmanager
def advise_on_full_memory(advice: str) -> Iterator[None]:
    """Report that torch found no more memory, on a GPU or a CPU, with advice in sentences."""
    try:
        yield
    except RuntimeError as error:
        if not is_full_memory(error):
            raise
        raise FullMemoryError(f"There is not enough memory. {advice} torch reports: {error}") from error
