"""Encoders as ONNX and OpenVINO models, in single precision and with 8-bit weights, each checked against torch.

sentence-transformers' own backends need optimum, whose releases exclude transformers 5.
"""

from __future__ import annotations

import errno
import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor, nn

from ease.encoders.options import Form
from ease.encoders.prompts import prompt_named
from ease.errors import EaseError
from ease.io.locks import temporary_folder

FILES: dict[Form, str] = {
    "onnx": "onnx/model.onnx",
    "onnx_int8": "onnx/model_int8.onnx",
    "openvino": "openvino/model.xml",
    "openvino_int8": "openvino/model_int8.xml",
}
"""Files below the folder of the encoder; an OpenVINO model also has a `.bin` beside it."""
FORMS = tuple(FILES)
LEAST_COSINE: dict[Form, float] = {"onnx": 0.9999, "onnx_int8": 0.98, "openvino": 0.9999, "openvino_int8": 0.98}
"""Smallest cosine of a text's exported embedding to that of torch"""
_LIBRARIES: dict[Form, tuple[str, ...]] = {
    "onnx": ("onnx", "onnxscript", "onnxruntime"),
    "onnx_int8": ("onnx", "onnxscript", "onnxruntime"),
    # torch writes ONNX, which OpenVINO converts.
    "openvino": ("onnx", "onnxscript", "openvino"),
    "openvino_int8": ("onnx", "onnxscript", "openvino", "nncf"),
}
INPUTS = ("input_ids", "attention_mask")
OUTPUT = "sentence_embedding"
EXAMPLES = ("A sentence.", "Another sentence, which has more tokens than the first one.")
"""The exporter follows the computation of these texts; batch and length stay free."""
LONGEST_EXAMPLE = 24
"""Tokens; an encoder may accept fewer"""


class Exported(NamedTuple):
    """An exported form, and the cosines of its embeddings to those of torch."""

    form: Form
    file: str
    megabytes: float
    lowest_cosine: float
    mean_cosine: float


def check_libraries(forms: Sequence[Form]) -> None:
    """Raise EaseError if a library of the forms is not installed."""
    libraries = [name for form in forms for name in _LIBRARIES[form]]
    if missing := [name for name in dict.fromkeys(libraries) if find_spec(name) is None]:
        raise EaseError(
            f"The forms {', '.join(forms)} need {', '.join(missing)}: run `pip install {' '.join(missing)}`, or set "
            "`forms` to []."
        )


def check_forms(encoder: SentenceTransformer, forms: Sequence[Form]) -> None:
    """Check that the libraries of the forms are installed, and that they can express an encoder."""
    if not forms:
        return
    check_libraries(forms)
    names = ", ".join(forms)
    remedy = "set `forms` to []."
    if not isinstance(encoder[0], Transformer):
        raise EaseError(
            f"{names}: the encoder begins with {type(encoder[0]).__name__}, and only transformers are exported: "
            f"{remedy}"
        )
    if not all(getattr(module, "include_prompt", True) for module in encoder):
        raise EaseError(f"{names}: the encoder's pooling skips the tokens of prompts, which an export cannot: {remedy}")


def export_encoder(
    encoder: SentenceTransformer, folder: Path, texts: Sequence[str], forms: Sequence[Form] = FORMS
) -> list[Exported]:
    """Write an encoder in several forms, each with pooling and all later modules, and with free batch size and length.

    The inputs are `input_ids` and `attention_mask` of the encoder's tokenizer, both (n, length) int64; the output is
    `sentence_embedding`, (n, dimension) float32. A prompt is part of the text, to be added before the tokenizer.

    Args:
        encoder: A transformer with its pooling, on the CPU.
        folder: Gets the `FILES`.
        texts: Texts on which the forms are compared with torch.
        forms: Forms to write.

    Raises:
        EaseError: If a form does not fit the encoder, or its embeddings differ too much from torch's.
    """
    check_forms(encoder, forms)
    if not forms:
        return []
    # Dropout would become a part of the model.
    encoder.eval()
    with _quiet(), temporary_folder() as scratch:
        source = scratch / "model.onnx"
        _write_onnx(encoder, source)
        for form in forms:
            (folder / FILES[form]).parent.mkdir(parents=True, exist_ok=True)
            _convert(form, source, folder / FILES[form])
    expected = encoder.encode(list(texts), convert_to_numpy=True, show_progress_bar=False)
    exported = []
    for form in forms:
        file = folder / FILES[form]
        least = LEAST_COSINE[form]
        embeddings = load_exported(form, folder, encoder)(texts)
        norms = np.linalg.norm(embeddings, axis=1) * np.linalg.norm(expected, axis=1)
        cosines = (embeddings * expected).sum(axis=1) / np.maximum(norms, 1e-12)
        lowest = float(cosines.min())
        # Not `<`, which is false for NaN.
        if not lowest >= least:
            raise EaseError(
                f"{form}: the cosine to torch falls to {lowest:.4f}, below {least}: remove {form} from `forms`."
            )
        size = sum(part.stat().st_size for part in file.parent.glob(f"{file.stem}.*"))
        exported.append(Exported(form, FILES[form], size / 1e6, lowest, float(cosines.mean())))
    return exported


def _write_onnx(encoder: SentenceTransformer, target: Path) -> None:
    class Embedding(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = encoder

        def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
            embeddings: Tensor = self.encoder({"input_ids": input_ids, "attention_mask": attention_mask})[OUTPUT]
            return embeddings

    longest = min(encoder.max_seq_length or LONGEST_EXAMPLE, LONGEST_EXAMPLE)
    tokens: Any = encoder.tokenizer(
        list(EXAMPLES), padding=True, truncation=True, max_length=longest, return_tensors="pt"
    )
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    try:
        program = torch.onnx.export(
            Embedding(),
            tuple(tokens[name] for name in INPUTS),
            dynamo=True,
            verbose=False,
            dynamic_shapes=(free, free),
            input_names=INPUTS,
            output_names=[OUTPUT],
        )
    except Exception as error:  # the exporter has many errors without a common class
        raise EaseError(
            f"torch cannot export {encoder[0].model.__class__.__name__} ({type(error).__name__}: "
            f"{' '.join(str(error).split())[:200]}): set `forms` to []."
        ) from error
    assert program is not None
    program.save(target)


def _convert(form: Form, source: Path, target: Path) -> None:
    """Write one form of an ONNX model."""
    if form == "onnx":
        import onnx

        onnx.save(onnx.load(source), target)
    elif form == "onnx_int8":
        from onnxruntime.quantization import QuantType, quantize_dynamic

        # 7 bits (`reduce_range`): processors without VNNI add products of 8 bits in 16 bits, which overflow.
        quantize_dynamic(source, target, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
    else:
        openvino = _without_telemetry("openvino")
        model = openvino.convert_model(source)
        if form == "openvino_int8":
            nncf = _without_telemetry("nncf")
            with redirect_stdout(StringIO()):  # a progress bar
                model = nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_ASYM)
        try:
            openvino.save_model(model, target, False)
        except RuntimeError as error:
            if "iostream" not in str(error):
                raise
            raise OSError(errno.EIO, f"OpenVINO could not write {target.name}") from error


def load_exported(
    form: Form, folder: Path, encoder: SentenceTransformer, batch_size: int = 32
) -> Callable[[Sequence[str]], np.ndarray]:
    """Return the function of an exported form from n texts to their embeddings, (n, dimension) float32.

    The encoder has the tokenizer, greatest length and default prompt. Texts of a batch have similar lengths.
    """
    run = _runtime(form, folder / FILES[form])
    longest = encoder.max_seq_length
    prompt = prompt_named(encoder.prompts, encoder.default_prompt_name)

    def encode(texts: Sequence[str]) -> np.ndarray:
        order = np.argsort([len(text) for text in texts], kind="stable")
        parts = []
        for rows in np.split(order, range(batch_size, len(order), batch_size)):
            batch = [prompt + texts[row] for row in rows]
            tokens = encoder.tokenizer(
                batch, padding=True, truncation=longest is not None, max_length=longest, return_tensors="np"
            )
            parts.append(run({name: tokens[name].astype(np.int64) for name in INPUTS}))
        embeddings: np.ndarray = np.concatenate(parts)[np.argsort(order)]
        return embeddings

    return encode


def _runtime(form: Form, file: Path) -> Callable[[dict[str, np.ndarray]], np.ndarray]:
    """Load a model by its own library."""
    if form.startswith("openvino"):
        # On some processors the default is bfloat16, whose cosines to torch are lower.
        model = _openvino_core().compile_model(file, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        return lambda tokens: model(tokens)[OUTPUT]
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    return lambda tokens: session.run([OUTPUT], tokens)[0]


@cache
def _openvino_core() -> Any:
    """Return OpenVINO's core, one for the process.

    Each core replaces the stack for signals and restores the former one when it ends. After two cores whose lifetimes
    overlap, that is a stack which no longer exists, and the next signal, such as Ctrl-C, ends the process.
    """
    return _without_telemetry("openvino").Core()


def _without_telemetry(module: str) -> Any:
    """Import `openvino` or `nncf` as if openvino-telemetry, which reports each conversion to a server, were missing."""
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    return import_module(module)


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide the libraries' remarks on optional packages and on preparation that does not change the result."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
