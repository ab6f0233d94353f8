"""Batches of sentences of similar length, which several threads encode on a CPU."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
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

TOKENS = 512
"""Tokens of a batch on a CPU; its activations fit the cache of a core"""
CPU_SENTENCES = 32
"""Sentences of a batch on a CPU if their tokens cannot be counted"""
GPU_SENTENCES = 256
"""Sentences of a batch on a GPU if an encoder tokenises them itself"""
COUNTED = 8192
"""Sentences whose tokens are counted at a time"""
THREADS = 16
"""Maximum number of threads that encode; Python's lock limits the gain of more"""
STATELESS = frozenset(
    ("albert", "bert", "camembert", "distilbert", "electra", "mpnet", "roberta", "xlm-roberta")
)
"""Architectures whose layers keep nothing from call to call, so that threads can share them"""
PACKAGES = ("ease", "sentence_transformers", "torch", "transformers")
"""Packages of layers that are known to keep nothing"""

Encode = Callable[[Sequence[str]], Tensor]


def count_lengths(encoder: SentenceTransformer, sentences: list[str]) -> tuple[NDArray[np.int64], bool]:
    """Return the length of each sentence, and whether it is counted in tokens; otherwise it is in characters."""
    tokenizer = getattr(encoder, "tokenizer", None)
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        return np.array([len(sentence) for sentence in sentences], dtype=np.int64), False
    longest = encoder.max_seq_length
    options = {"truncation": True, "max_length": longest} if longest else {"truncation": False}
    lengths: list[int] = []
    for start in range(0, len(sentences), COUNTED):
        part = sentences[start : start + COUNTED]
        found = tokenizer(
            part, return_attention_mask=False, return_token_type_ids=False, verbose=False, **options
        )
        lengths += map(len, found["input_ids"])
    return np.array(lengths, dtype=np.int64), True


def make_batches(
    encoder: SentenceTransformer, sentences: list[str], size: int | None
) -> list[NDArray[np.int64]]:
    """Return the rows of each batch, longest first, so that memory errors occur early.

    A batch has `size` sentences; None: as many as have `TOKENS` tokens by the encoder's tokenizer.
    """
    lengths, in_tokens = count_lengths(encoder, sentences)
    order = np.argsort(-lengths, kind="stable")
    if size is not None or not in_tokens:
        size = size or CPU_SENTENCES
        return [order[start : start + size] for start in range(0, len(order), size)]
    batches, start = [], 0
    while start < len(order):
        end = start + max(1, TOKENS // max(1, int(lengths[order[start]])))
        batches.append(order[start:end])
        start = end
    return batches


def encode_batches(
    encoder: SentenceTransformer, encode: Encode, batches: list[list[str]]
) -> Iterator[np.ndarray]:
    """Yield the embeddings of each batch, in order; they do not depend on the number of threads."""

    def encode_one(batch: list[str]) -> np.ndarray:
        return encode(batch).numpy()

    in_threads = len(batches) > 1 and can_share(encoder)
    single = encoder.dtype == torch.float32
    with onednn_products(encoder) if single and has_onednn() and not is_compiled(encoder) else nullcontext():
        yield from (_in_threads(encode_one, batches) if in_threads else map(encode_one, batches))


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


def _in_threads(
    encode_one: Callable[[list[str]], np.ndarray], batches: list[list[str]]
) -> Iterator[np.ndarray]:
    """Encode several batches at the same time, each with one thread of torch."""
    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(
        min(threads, THREADS, len(batches)), initializer=torch.set_num_threads, initargs=(1,)
    )
    try:
        # The first batch sets the tokenizer's padding, which must not change while other threads use the tokenizer.
        yield pool.submit(encode_one, batches[0]).result()
        yield from pool.map(encode_one, batches[1:])
    finally:
        pool.shutdown(cancel_futures=True)
        # New threads start with the number that any thread set last.
        torch.set_num_threads(threads)


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
