"""Encoding on a GPU without waiting for the host.

A thread tokenises the next texts while the GPU encodes. Texts are sorted by their tokens into batches of a few shapes,
since a GPU's libraries look for an algorithm for each new shape. Ids are copied to the GPU, and embeddings to the host,
while later batches are encoded.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from threading import Lock
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from ease.encoders.attention import padding_known, without_waiting
from ease.encoders.batches import in_smaller_batches, is_compiled

GPU_TOKENS = 16_384
"""Tokens of a batch, padding included, if no number of sentences is given"""
FAST_GPU_TOKENS = 65_536
"""The same on tensor cores, which compute fewer of them faster than the host starts their kernels"""
MULTIPLE = 8
"""The width of a batch is a multiple on tensor cores; in full precision, padding takes longer than new shapes"""
AHEAD = 2
"""Units that are tokenised ahead"""
SAMPLE = 4
"""Texts whose features are compared with the encoder's own"""
NAMES = ("input_ids", "attention_mask", "token_type_ids")

_TOKENIZING = Lock()
"""Held while a tokenizer's padding must not change"""


class TokenBatches:
    """Encodes units of texts by their token ids."""

    def __init__(self, encoder: SentenceTransformer, size: int | None, prompt: str, role: Mapping[str, str]) -> None:
        """Create an encoding that is used only if `agrees` is true.

        Args:
            encoder: Moved to its device.
            size: Sentences of a batch; None: as many as have `GPU_TOKENS` or `FAST_GPU_TOKENS` tokens.
            prompt: The text before each sentence.
            role: Keyword arguments of the encoder's methods.
        """
        self.encoder = encoder.eval()
        self._size = size
        self._prompt = prompt
        self._role = role
        # Only pinned memory is copied to a GPU while the host continues.
        self._pinned = encoder.device.type == "cuda"
        self._multiple = MULTIPLE
        self._tokens = FAST_GPU_TOKENS
        if encoder.dtype == torch.float32 and torch.get_float32_matmul_precision() == "highest":
            # Without tensor cores
            self._multiple = 1
            self._tokens = GPU_TOKENS
        self._names: list[str] = []
        self._constants: dict[str, Any] = {}
        self._encode_batch = in_smaller_batches(self._forward, lambda batch: int(batch.shape[1]))

    def agrees(self, texts: Sequence[str]) -> bool:
        """Return whether a few of the texts have the same features as by the encoder's own `preprocess`."""
        encoder = self.encoder
        if not (
            type(encoder) is SentenceTransformer
            and type(encoder[0]) is Transformer
            and isinstance(encoder.tokenizer, PreTrainedTokenizerFast)
            and encoder.tokenizer.padding_side == "right"
            and not is_compiled(encoder)
        ):
            return False
        texts = [*texts[:: -(-len(texts) // SAMPLE)], texts[-1]]
        with _TOKENIZING:  # sets the tokenizer's truncation, which `_ids` uses, and its padding
            expected = encoder.preprocess(texts, prompt=self._prompt, **self._role)
        tensors = {name: value for name, value in expected.items() if isinstance(value, Tensor)}
        if not {"input_ids", "attention_mask"} <= tensors.keys() <= set(NAMES):
            return False
        self._names = list(tensors)
        self._constants = {name: value for name, value in expected.items() if name not in tensors}
        ids, lengths = self._ids(texts)
        rows, width = tensors["input_ids"].shape
        if lengths.max() > width:
            return False
        batch = np.empty((rows, 1 + width), dtype=np.int64)
        self._fill(batch, ids, lengths)
        features = self._features(torch.from_numpy(batch))
        return all(torch.equal(features[name], tensor) for name, tensor in tensors.items())

    def make(self, texts: Sequence[str]) -> tuple[list[tuple[int, int]], Tensor]:
        """Return the shape of each batch of a unit, and one tensor of all batches and each text's place in them.

        A batch has a row for each text: its number of tokens and its padded ids.
        """
        ids, lengths = self._ids(texts)
        order = np.argsort(-lengths, kind="stable")
        shapes = []
        start = 0
        while start < len(order):
            longest = int(lengths[order[start]])
            wide = -(-longest // self._multiple) * self._multiple
            width = max(1, longest, int(min(wide, self.encoder.max_seq_length or longest)))
            rows = min(self._size or max(1, self._tokens // width), len(order) - start)
            shapes.append((rows, 1 + width))
            start += rows
        total = sum(map(math.prod, shapes))
        # One tensor for all batches: one copy to the GPU takes less time than many small ones.
        unit = torch.empty(total + len(order), dtype=torch.int64, pin_memory=self._pinned)
        values = unit.numpy()
        start = 0
        offset = 0
        for rows, columns in shapes:
            texts_of_batch = order[start : start + rows]
            batch = values[offset : offset + rows * columns].reshape(rows, columns)
            self._fill(batch, [ids[row] for row in texts_of_batch], lengths[texts_of_batch])
            start += rows
            offset += rows * columns
        values[total:][order] = np.arange(len(order))
        return shapes, unit

    @torch.inference_mode()
    def encode(self, shapes: Sequence[tuple[int, int]], unit: Tensor) -> Tensor:
        """Return the embeddings of a unit's texts, (n, dimension), on the encoder's device."""
        device_unit = unit.to(self.encoder.device, non_blocking=self._pinned)
        sizes = [math.prod(shape) for shape in shapes]
        *batches, places = device_unit.split([*sizes, len(unit) - sum(sizes)])
        parts = [self._encode_batch(batch.view(shape)) for batch, shape in zip(batches, shapes, strict=True)]
        return torch.cat(parts)[places]

    def _ids(self, texts: Sequence[str]) -> tuple[list[list[int]], NDArray[np.int64]]:
        """Return the ids of each text, with special tokens and truncated, and their numbers."""
        tokenizer = self.encoder.tokenizer.backend_tokenizer
        prompted = [self._prompt + text for text in texts]
        with _TOKENIZING:
            tokenizer.no_padding()
            encoded = tokenizer.encode_batch_fast(prompted)
        ids = [text.ids for text in encoded]
        return ids, np.fromiter(map(len, ids), np.int64, len(ids))

    def _fill(self, batch: NDArray[np.int64], ids: Sequence[list[int]], lengths: NDArray[np.int64]) -> None:
        batch[:, 0] = lengths
        batch[:, 1:] = self.encoder.tokenizer.pad_token_id
        is_token = np.arange(batch.shape[1] - 1) < lengths[:, None]
        batch[:, 1:][is_token] = np.fromiter(chain.from_iterable(ids), np.int64, int(lengths.sum()))

    def _features(self, batch: Tensor) -> dict[str, Any]:
        ids = batch[:, 1:].contiguous()
        # Computed on the device: a mask from the host would double what is copied.
        mask = torch.arange(ids.shape[1], device=ids.device) < batch[:, :1]
        features = dict(zip(NAMES, (ids, mask.long(), torch.zeros_like(ids)), strict=True))
        return {**self._constants, **{name: features[name] for name in self._names}}

    def _forward(self, batch: Tensor) -> Tensor:
        with padding_known():
            embeddings: Tensor = self.encoder(self._features(batch), **self._role)["sentence_embedding"]
        return embeddings[:, : self.encoder.truncate_dim]


def encode_by_ids(ids: TokenBatches, units: Iterable[Sequence[str]]) -> Iterator[Tensor]:
    """Yield the embeddings of each unit's texts on the encoder's device; a thread tokenises the next units."""
    pool = ThreadPoolExecutor(1)
    remaining = iter(units)
    try:
        with without_waiting(ids.encoder):
            waiting = deque(pool.submit(ids.make, texts) for texts in islice(remaining, 1 + AHEAD))
            while waiting:
                shapes, unit = waiting.popleft().result()
                waiting.extend(pool.submit(ids.make, texts) for texts in islice(remaining, 1))
                yield ids.encode(shapes, unit)
    finally:
        pool.shutdown(cancel_futures=True)


def copied(tensors: Iterable[Tensor]) -> Generator[np.ndarray]:
    """Yield tensors of single precision as arrays; each is copied from the device while the next one is computed."""
    waiting = deque[tuple[Tensor, torch.cuda.Event | None]]()
    for tensor in chain(tensors, (None,)):
        if tensor is not None:
            pinned = tensor.device.type == "cuda"
            copy = torch.empty(tensor.shape, dtype=torch.float32, pin_memory=pinned)
            copy.copy_(tensor, non_blocking=pinned)
            event = None
            if pinned:
                # The copy is complete when the stream has reached this point.
                event = torch.cuda.current_stream(tensor.device).record_event()
            waiting.append((copy, event))
        if waiting and (tensor is None or len(waiting) > 1):
            copy, event = waiting.popleft()
            if event is not None:
                event.synchronize()
            yield copy.numpy()
