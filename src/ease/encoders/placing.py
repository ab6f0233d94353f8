"""The device of an encoder that encodes."""

from __future__ import annotations

from sentence_transformers import SentenceTransformer

from ease.encoders.static import is_static
from ease.io.device import best_device


def place(encoder: SentenceTransformer) -> SentenceTransformer:
    """Move an encoder to the GPU where there is one; a static one stays on the CPU, where it encodes faster."""
    return encoder if is_static(encoder) else encoder.to(best_device())
