"""Encoding on a CUDA device."""

from __future__ import annotations

import pytest
import torch

from ease.encoders.encoder import build_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncoderOptions, EncodingOptions

SENTENCES = [f"{'word ' * (1 + row % 37)}{row}" for row in range(400)]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_gpu_computes_what_a_cpu_computes() -> None:
    encoder = build_encoder(EncoderOptions(), SENTENCES)
    here = encode_with(encoder)(SENTENCES)
    there = encode_with(encoder.to("cuda"), EncodingOptions(batch_size=16))(SENTENCES)
    similar = torch.cosine_similarity(torch.from_numpy(here), torch.from_numpy(there))
    assert float(similar.min()) > 1 - 1e-4
