"""Static students: one vector per token of the teacher's tokenizer, saved as a `StaticEmbedding` module.

A vector starts as the teacher's embedding of the single token, rotated to the principal directions of the teacher's
sentence embeddings, and is weighted by the token's frequency.

References:
    Tulkens and van Dongen 2024 (Model2Vec): a forward pass over the vocabulary, PCA and weights by frequency.
    Arora et al. 2017 (A simple but tough-to-beat baseline for sentence embeddings): the weight a / (a + p), SIF.
    Tissier et al. 2019 (Near-lossless binarization of word embeddings) on smaller numbers for word vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from ease.encoders.encoder import save_encoder
from ease.errors import EaseError

TOKENS = 1024
"""Tokens encoded at a time"""
LARGEST = 127

Floats = NDArray[np.float64]


def static_student(
    teacher: SentenceTransformer, directions: Floats, sentences: Iterable[Sequence[str]], scale: float
) -> SentenceTransformer:
    """Make a static encoder from a teacher.

    Args:
        teacher: The teacher, on the device on which it computes.
        directions: Directions of the teacher's space that become the student's dimensions, (dimension, kept).
        sentences: Batches of sentences in which the tokens are counted.
        scale: a of the weights a / (a + p).

    Returns:
        The student, on the CPU.

    Raises:
        EaseError: If the teacher has no fast tokenizer.
    """
    tokenizer = fast_tokenizer(teacher)
    vectors = token_embeddings(teacher).astype(np.float64) @ directions
    vectors -= vectors.mean(axis=0)
    vectors /= max(float(np.sqrt(np.mean(vectors**2))), 1e-12)
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    backend.no_padding()
    backend.no_truncation()
    vectors *= frequency_weights(backend, len(vectors), sentences, scale)[:, None]
    vectors[tokenizer.all_special_ids] = 0
    module = StaticEmbedding(backend, embedding_weights=torch.tensor(vectors, dtype=torch.float32))
    return SentenceTransformer(modules=[module], device="cpu")


def fast_tokenizer(teacher: SentenceTransformer) -> PreTrainedTokenizerFast:
    """Return a teacher's tokenizer.

    Raises:
        EaseError: If it is not one of the library `tokenizers`.
    """
    tokenizer = teacher.tokenizer
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise EaseError(
            f"A static student needs a teacher with a fast tokenizer, not {type(tokenizer).__name__}: choose a "
            "transformer as `teacher`."
        )
    return tokenizer


def token_embeddings(teacher: SentenceTransformer) -> NDArray[np.float32]:
    """Return the teacher's embedding of each single token, between the special tokens: (tokens, dimension)."""
    tokenizer = fast_tokenizer(teacher)
    example = tokenizer("a", return_special_tokens_mask=True)
    special = np.array(example["special_tokens_mask"], dtype=bool)
    inner = np.flatnonzero(~special)
    first = int(inner[0]) if len(inner) else 1
    ids = torch.tensor(example["input_ids"])
    before, after = ids[:first], ids[int(inner[-1]) + 1 if len(inner) else first :]
    rows = []
    teacher.eval()
    with torch.inference_mode():
        for tokens in torch.arange(len(tokenizer)).split(TOKENS):
            count = len(tokens)
            columns = [before.expand(count, -1), tokens.unsqueeze(1), after.expand(count, -1)]
            inputs = torch.cat(columns, dim=1).to(teacher.device)
            features = {"input_ids": inputs, "attention_mask": torch.ones_like(inputs)}
            rows.append(teacher(features)["sentence_embedding"].float().cpu().numpy())
    return np.concatenate(rows)


def frequency_weights(
    tokenizer: Tokenizer, tokens: int, sentences: Iterable[Sequence[str]], scale: float
) -> Floats:
    """Return the weight a / (a + p) of each token, where p is its share of all tokens of the sentences: (tokens,)."""
    counts = np.zeros(tokens, dtype=np.int64)
    for batch in sentences:
        encoded = tokenizer.encode_batch_fast(list(batch), add_special_tokens=False)
        ids = np.fromiter(chain.from_iterable(one.ids for one in encoded), np.int64)
        counts += np.bincount(ids, minlength=tokens)
    return scale / (scale + counts / max(1, counts.sum()))


def save_static(encoder: SentenceTransformer, folder: Path, card: str | None, *, int8: bool) -> None:
    """Save a static student in the format of sentence-transformers; not atomic.

    With `int8`, the file of weights has the integers and one scale per token, under the names that `StaticEmbedding`
    reads from Model2Vec's files: the library restores single-precision vectors.

    Args:
        encoder: The student.
        folder: Created if missing.
        card: The model card.
        int8: Whether to round each vector to integers.
    """
    save_encoder(encoder, folder, card)
    if not int8:
        return
    module: Any = encoder[0]
    weight = module.embedding.weight.detach().cpu()
    scales = weight.abs().amax(dim=1).clamp(min=1e-12) / LARGEST
    rounded = (weight / scales[:, None]).round().to(torch.int8)
    (file,) = folder.rglob("model.safetensors")
    save_file({"embeddings": rounded, "weights": scales}, file)
