"""Encoding on a CUDA device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import torch

from ease.encoders.attention import without_waiting
from ease.encoders.batches import FullMemoryError
from ease.encoders.encoder import build_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncoderOptions, EncodingOptions
from ease.encoders.token_batches import TokenBatches

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")]
SENTENCES = [f"{'word ' * (1 + row % 37)}{row}" for row in range(400)]


@pytest.mark.parametrize(("precision", "rounding"), [("fp32", 1e-5), ("tf32", 1e-3), ("bf16", 1e-2)])
@pytest.mark.parametrize("size", [16, None])
def test_a_gpu_computes_what_a_cpu_computes(precision: Any, rounding: float, size: int | None) -> None:
    encoder = build_encoder(EncoderOptions(), SENTENCES)
    here = encode_with(encoder)(SENTENCES)
    own = encoder.to("cuda").encode(SENTENCES)
    before = torch.get_float32_matmul_precision()
    there = encode_with(encoder, EncodingOptions(batch_size=size, precision=precision))(SENTENCES)
    assert torch.get_float32_matmul_precision() == before
    for wanted in (here, own):
        similar = torch.cosine_similarity(torch.from_numpy(wanted), torch.from_numpy(there))
        assert float(similar.min()) > 1 - rounding


def test_nothing_waits_for_the_gpu_between_batches() -> None:
    encoder = build_encoder(EncoderOptions(), SENTENCES).to("cuda")
    batches = TokenBatches(encoder, 16, "", {})
    assert batches.agrees(SENTENCES)
    shapes, made = batches.make(SENTENCES)
    with without_waiting(encoder):
        batches.encode(shapes, made)
        torch.cuda.set_sync_debug_mode("error")
        try:
            found = batches.encode(shapes, made)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    assert torch.isfinite(found).all()


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
