"""Fast encoding with static encoders, which have one vector per token."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding

TEXTS = 1024
"""Texts that a thread tokenises and averages at a time"""


def is_static(encoder: SentenceTransformer) -> bool:
    """Return whether an encoder is static (it only averages one vector per token) and on the CPU."""
    if len(encoder) != 1 or type(encoder[0]) is not StaticEmbedding:
        return False
    return encoder.device.type == "cpu" and not encoder.default_prompt_name and encoder.truncate_dim is None


def encode_static(encoder: SentenceTransformer, texts: Sequence[str]) -> np.ndarray:
    """Encode texts by a static encoder: (n, dimension) float32, equal to those of `SentenceTransformer.encode`.

    That method also computes the characters of each token and one tensor per text, which takes longer than the
    embeddings.
    """
    module: Any = encoder[0]

    def encode(part: Sequence[str]) -> np.ndarray:
        encoded = module.tokenizer.encode_batch_fast(list(part), add_special_tokens=False)
        ids = [one.ids for one in encoded]
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        tokens = np.fromiter(chain.from_iterable(ids), np.int64, int(lengths.sum()))
        offsets = np.cumsum(lengths) - lengths
        with torch.inference_mode():
            rows: np.ndarray = module.embedding(torch.from_numpy(tokens), torch.from_numpy(offsets)).numpy()
        return rows

    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        return np.concatenate(list(pool.map(encode, _parts(texts))))


def _parts(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), TEXTS):
        yield texts[start : start + TEXTS]
