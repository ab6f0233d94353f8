"""Exported encoders embed texts as torch does, whatever their number and length; others are refused in one line."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, StaticEmbedding
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from ease.encoders import exports
from ease.encoders.exports import FILES, FORMS, LEAST_COSINE, check_forms, export_encoder, load_exported
from ease.errors import EaseError
from ease.io.atomic import atomic_folder
from tests.encoders.tiny import tiny_encoder
from tests.training.processes import finish, start_ranks

TEXTS = ["One.", "A cat sat on the mat, and a dog looked.", "日本の首都", "und so weiter " * 40, "A dog."]


def tiny() -> SentenceTransformer:
    """A BERT that accepts fewer tokens than some texts have, with a linear map and a normalisation."""
    encoder = tiny_encoder(TEXTS * 20, hidden_size=32, intermediate_size=64, max_positions=48)
    encoder.extend([Dense(32, 16, activation_function=torch.nn.Identity()), Normalize()])
    return encoder.eval()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all forms of an encoder, and with the encoder itself."""
    folder, encoder = tmp_path_factory.mktemp("exported"), tiny()
    exported = {str(form.form): form for form in export_encoder(encoder, folder, TEXTS)}
    assert list(exported) == list(FORMS)
    for kind in ("onnx", "openvino"):
        assert exported[f"{kind}_int8"].megabytes < exported[kind].megabytes
    encoder.save(str(folder / "encoder"))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_each_form_embeds_as_torch(made: Path, form: Any) -> None:
    encoder = SentenceTransformer(str(made / "encoder"), device="cpu")
    for texts in (TEXTS, TEXTS[:1], TEXTS[3:4]):
        found, expected = load_exported(form, made, encoder)(texts), encoder.encode(texts)
        assert found.shape == expected.shape == (len(texts), 16)
        cosines = (found * expected).sum(axis=1) / np.linalg.norm(found, axis=1)
        assert cosines.min() >= LEAST_COSINE[form]


def receive_a_signal(rank: int, made: Path) -> None:
    """Load forms of OpenVINO and receive a signal, which would end the process if two cores had existed at once."""
    encoder, received = SentenceTransformer(str(made / "encoder"), device="cpu"), []
    signal.signal(signal.SIGTERM, lambda *_: received.append("received"))
    for form in ("openvino", "openvino_int8"):
        loaded = load_exported(form, made, encoder)  # type: ignore[arg-type]
        loaded(["A text."])
    del loaded
    gc.collect()
    os.kill(os.getpid(), signal.SIGTERM)
    assert received == ["received"]
    assert sys.modules["openvino_telemetry"] is None


@pytest.mark.slow
def test_openvino_leaves_signals_alone(made: Path) -> None:
    assert finish(start_ranks(1, receive_a_signal, made)) == [0]


@pytest.mark.slow
def test_a_form_that_does_not_fit_on_the_disk_is_one_line(
    made: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "_write_onnx", lambda encoder, target: shutil.copy(made / FILES["onnx"], target))
    with pytest.raises(EaseError, match=rf"Cannot write to {small_disk}/made \(.+\): make room"):
        with atomic_folder(small_disk / "made") as folder:
            export_encoder(tiny(), folder, TEXTS, ["openvino"])
    assert list(small_disk.iterdir()) == []


def test_a_static_encoder_is_refused() -> None:
    tokenizer = Tokenizer(WordLevel({"a": 0, "b": 1}, unk_token="a"))
    encoder = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=4)], device="cpu")
    with pytest.raises(EaseError, match="onnx, openvino: the encoder begins with StaticEmbedding"):
        check_forms(encoder, ["onnx", "openvino"])
    check_forms(encoder, [])
