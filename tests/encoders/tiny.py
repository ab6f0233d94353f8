"""A tiny encoder for tests that need any."""

from __future__ import annotations

from collections.abc import Iterable

from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import build_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions

SIZES = {"layers": 1, "hidden_size": 16, "heads": 2, "intermediate_size": 32, "vocabulary_size": 300}


def tiny_encoder(sentences: Iterable[str], **sizes: int) -> SentenceTransformer:
    """Return a BERT with random weights, the mean as its pooling, and a tokenizer of these sentences."""
    return build_encoder(EncoderOptions(random=RandomBertOptions(**{**SIZES, **sizes})), sentences)
