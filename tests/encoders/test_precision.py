"""`precision: auto` on a CPU: bf16 where products are faster in it, except for small encoders; fp32 elsewhere."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from ease.encoders import encoding, precision
from ease.encoders.encoding import encode_with, in_precision
from ease.encoders.options import EncodingOptions
from ease.encoders.precision import LEAST_GAIN, has_amx, has_bf16
from tests.encoders.tiny import tiny_encoder

SENTENCES = ["one two three", "two three", "one two three four five six"]


@pytest.fixture(scope="module")
def encoder() -> SentenceTransformer:
    """A tiny BERT."""
    return tiny_encoder(SENTENCES * 3)


@pytest.mark.parametrize("name", ["amx_bf16", "avx512_bf16"])
def test_instructions_for_bf16_are_what_torch_reports(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {name: True}, raising=False)
    assert has_bf16()
    assert has_amx() == (name == "amx_bf16")
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {name: False, "avx2": True})
    assert not has_bf16()
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    for ask in ("_is_amx_tile_supported", "_is_avx512_bf16_supported"):
        monkeypatch.setattr(torch.cpu, ask, lambda: False)
    assert not has_bf16()
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    assert has_bf16(), "older versions of torch"


def test_a_cpu_that_only_emulates_bf16_multiplies_slower_in_it() -> None:
    """`ONEDNN_MAX_CPU_ISA` imitates an older CPU."""
    script = "from ease.encoders.precision import bf16_gain; print(bf16_gain())"
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2"}
    gain = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert 0 < float(gain.stdout) < LEAST_GAIN


@pytest.mark.parametrize(
    ("gain", "least", "expected", "reason"),
    [
        (None, 1, "fp32", "this CPU has no bf16 instructions"),
        (0.5, 1, "fp32", "this CPU multiplies hardly faster in bf16, or slower"),
        (2.0, 10_000_000, "fp32", "linear layers have fewer than 10,000,000 weights"),
        (2.0, 1, "bf16", "this CPU multiplies faster in bf16"),
    ],
)
def test_auto_computes_as_the_faster_precision_and_says_so(
    encoder: SentenceTransformer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    gain: float | None,
    least: int,
    expected: Any,
    reason: str,
) -> None:
    monkeypatch.setattr(precision, "has_bf16", lambda: gain is not None)
    monkeypatch.setattr(precision, "bf16_gain", lambda: gain)
    monkeypatch.setattr(precision, "LEAST_WEIGHTS", least)
    encoding._log_precision.cache_clear()
    with caplog.at_level(logging.INFO, "ease.encoders.encoding"):
        encode = encode_with(encoder)
        assert (encode.precision, caplog.messages) == ("fp32", []), "the default of a caller without options"
        encode = encode_with(encoder, EncodingOptions())
    assert encode.precision == expected
    assert caplog.messages == [f"Encoding in {expected} ({reason})"]
    explicit = encode_with(encoder, EncodingOptions(precision=expected))
    np.testing.assert_array_equal(encode(SENTENCES), explicit(SENTENCES))


def test_auto_keeps_weights_in_half_precision(encoder: SentenceTransformer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "has_bf16", lambda: False)
    half = in_precision(encoder, "bf16")
    encode = encode_with(half, EncodingOptions())
    assert (encode.precision, encode.computing) == ("fp32", half)
