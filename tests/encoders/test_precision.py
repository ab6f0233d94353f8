"""`precision: auto` on a CPU: bf16 with AMX, except for small encoders; fp32 elsewhere. AMX is imitated."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from ease.encoders import encoding, precision
from ease.encoders.encoding import encode_with, in_precision
from ease.encoders.options import EncodingOptions
from ease.encoders.precision import has_amx
from tests.encoders.tiny import tiny_encoder

SENTENCES = ["one two three", "two three", "one two three four five six"]


@pytest.fixture(scope="module")
def encoder() -> SentenceTransformer:
    """A tiny BERT."""
    return tiny_encoder(SENTENCES * 3)


def test_amx_is_what_torch_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True}, raising=False)
    assert has_amx()
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": False, "avx512_bf16": True})
    assert not has_amx()
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: True)
    assert has_amx(), "older versions of torch"


@pytest.mark.parametrize(
    ("amx", "least", "expected", "reason"),
    [
        (False, 1, "fp32", "this CPU has no AMX"),
        (True, 10_000_000, "fp32", "linear layers have fewer than 10,000,000 weights"),
        (True, 1, "bf16", "this CPU has AMX"),
    ],
)
def test_auto_computes_as_the_faster_precision_and_says_so(
    encoder: SentenceTransformer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    amx: bool,
    least: int,
    expected: Any,
    reason: str,
) -> None:
    monkeypatch.setattr(precision, "has_amx", lambda: amx)
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
    monkeypatch.setattr(precision, "has_amx", lambda: False)
    half = in_precision(encoder, "bf16")
    encode = encode_with(half, EncodingOptions())
    assert (encode.precision, encode.computing) == ("fp32", half)
