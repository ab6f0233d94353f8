"""Encoding on a CUDA device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
import torch

from ease.encoders.encoder import build_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.full_memory import FullMemoryError
from ease.encoders.options import EncoderOptions, EncodingOptions

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]
SENTENCES = [f"{'word ' * (1 + row % 37)}{row}" for row in range(400)]


def test_a_gpu_computes_what_a_cpu_computes() -> None:
    encoder = build_encoder(EncoderOptions(), SENTENCES)
    here = encode_with(encoder)(SENTENCES)
    there = encode_with(encoder.to("cuda"), EncodingOptions(batch_size=16))(SENTENCES)
    similar = torch.cosine_similarity(torch.from_numpy(here), torch.from_numpy(there))
    assert float(similar.min()) > 1 - 1e-4


def rest_of_the_memory() -> Iterator[torch.Tensor]:
    """Take what torch has reserved and the fraction of a process therefore does not limit."""
    with suppress(torch.OutOfMemoryError):
        while True:
            yield torch.empty(512, dtype=torch.uint8, device="cuda")


def test_a_full_gpu_says_what_to_change() -> None:
    encoder = build_encoder(EncoderOptions(), SENTENCES).to("cuda")
    torch.cuda.set_per_process_memory_fraction(1e-6)
    held = list(rest_of_the_memory())
    try:
        with pytest.raises(FullMemoryError, match="A single sentence needs more.*out of memory"):
            encode_with(encoder)(SENTENCES)
    finally:
        held.clear()
        torch.cuda.set_per_process_memory_fraction(1.0)
