"""Export an encoder by torch's own ONNX exporter and OpenVINO's converter, and compare each form with torch."""

from __future__ import annotations

import errno
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor, nn

from ease.encoders.exports.forms import FORMS, INPUTS, INSTALL, LEAST_COSINE, OUTPUT, Form, file_of, silent
from ease.encoders.exports.running import load_exported
from ease.errors import EaseError
from ease.io.locks import temporary_folder

LIBRARIES: dict[Form, tuple[str, ...]] = {
    "onnx": ("onnx", "onnxruntime", "onnxscript"),
    "onnx_int8": ("onnx", "onnxruntime", "onnxscript"),
    "openvino": ("onnx", "onnxscript", "openvino"),
    "openvino_int8": ("onnx", "onnxscript", "openvino", "nncf"),
}
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


class _Embedding(nn.Module):
    """An encoder as a function of token ids and attention mask, each (n, length), to embeddings (n, dimension)."""

    def __init__(self, encoder: SentenceTransformer) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the sentence embeddings."""
        embeddings: Tensor = self.encoder(dict(zip(INPUTS, (input_ids, attention_mask), strict=True)))[OUTPUT]
        return embeddings


def check_forms(encoder: SentenceTransformer, forms: Sequence[Form]) -> None:
    """Check that the libraries of the forms are installed, and that they can express an encoder.

    Raises:
        EaseError: If a library is missing, or the encoder has no transformer or a default prompt that is not pooled.
    """
    missing = sorted({name for form in forms for name in LIBRARIES[form] if find_spec(name) is None})
    if missing:
        raise EaseError(f"The forms {', '.join(forms)} need {', '.join(missing)}: run `{INSTALL}`.")
    if forms and not isinstance(encoder[0], Transformer):
        raise EaseError(
            f"{', '.join(forms)}: the encoder begins with {type(encoder[0]).__name__}, and only transformers are "
            "exported: set `forms` to []."
        )
    if forms and not all(getattr(module, "include_prompt", True) for module in encoder):
        raise EaseError(
            f"{', '.join(forms)}: the encoder's pooling skips the tokens of prompts, which an export cannot: set "
            "`forms` to []."
        )


def export_encoder(
    encoder: SentenceTransformer, folder: Path, texts: Sequence[str], forms: Sequence[Form] = FORMS
) -> list[Exported]:
    """Write an encoder in several forms, each with pooling and all later modules, and with free batch size and length.

    The inputs are `input_ids` and `attention_mask` of the encoder's tokenizer, both (n, length) int64; the output is
    `sentence_embedding`, (n, dimension) float32. A prompt is part of the text, to be added before the tokenizer.

    Args:
        encoder: A transformer with its pooling, on the CPU.
        folder: Gets the files that `file_of` names.
        texts: Texts on which the forms are compared with torch.
        forms: Forms to write.

    Returns:
        Each form with its lowest and mean cosine to torch over the texts.

    Raises:
        EaseError: If a library is missing, the encoder cannot be exported, or a cosine is below `LEAST_COSINE`.
    """
    check_forms(encoder, forms)
    if not forms:
        return []
    encoder.eval()
    with _quiet(), temporary_folder() as scratch:
        source = scratch / "model.onnx"
        _write_onnx(encoder, source)
        for form in forms:
            target = folder / file_of(form)
            target.parent.mkdir(parents=True, exist_ok=True)
            _write(form, source, target)
    expected = encoder.encode(list(texts), convert_to_numpy=True, show_progress_bar=False)
    return [_compared(form, folder, encoder, texts, expected) for form in forms]


def _write(form: Form, source: Path, target: Path) -> None:
    """Write one form of an ONNX model."""
    if form == "onnx":
        import onnx

        onnx.save(onnx.load(source), target)
    elif form == "onnx_int8":
        _quantize_onnx(source, target)
    else:
        openvino = silent("openvino")
        model = openvino.convert_model(source)
        made = _compressed(model) if form == "openvino_int8" else model
        try:
            openvino.save_model(made, target, False)
        except RuntimeError as error:
            if "iostream" not in str(error):
                raise
            raise OSError(errno.EIO, f"OpenVINO could not write {target.name}") from error


def _write_onnx(encoder: SentenceTransformer, target: Path) -> None:
    longest = min(encoder.max_seq_length or LONGEST_EXAMPLE, LONGEST_EXAMPLE)
    tokens: Any = encoder.tokenizer(
        list(EXAMPLES), padding=True, truncation=True, max_length=longest, return_tensors="pt"
    )
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    try:
        program = torch.onnx.export(
            _Embedding(encoder),
            tuple(tokens[name] for name in INPUTS),
            dynamo=True,
            verbose=False,
            dynamic_shapes=(free, free),
            input_names=INPUTS,
            output_names=[OUTPUT],
        )
    except Exception as error:  # the exporter has many errors without a common class
        cause = " ".join(str(error).split())[:200]
        raise EaseError(
            f"torch cannot export {type(encoder[0]).__name__} of {encoder[0].model.__class__.__name__} "
            f"({type(error).__name__}: {cause}): set `forms` to []."
        ) from error
    assert program is not None
    program.save(target)


def _quantize_onnx(source: Path, target: Path) -> None:
    """Write 8-bit weights, one scale for each output channel; activations are quantised when the model runs.

    `reduce_range` uses 7 bits: processors without VNNI add products of 8 bits in 16 bits, which overflow.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(source, target, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)


def _compressed(model: Any) -> Any:
    """Return an OpenVINO model with 8-bit weights."""
    nncf = silent("nncf")
    logging.getLogger("nncf").setLevel(logging.ERROR)  # set_log_level also changes others' handlers
    with redirect_stdout(StringIO()):  # a progress bar
        return nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_ASYM)


def _compared(
    form: Form, folder: Path, encoder: SentenceTransformer, texts: Sequence[str], expected: np.ndarray
) -> Exported:
    """Load a written form by its own library, and compare its embeddings with those of torch.

    Raises:
        EaseError: If a cosine is too low.
    """
    found = load_exported(form, folder, encoder).encode(texts)
    norms = np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1)
    cosines = (found * expected).sum(axis=1) / np.maximum(norms, 1e-12)
    lowest = float(cosines.min())
    if not lowest >= LEAST_COSINE[form]:
        raise EaseError(
            f"{form}: the cosine to torch falls to {lowest:.4f}, below {LEAST_COSINE[form]}: remove {form} from "
            "`forms`."
        )
    file = folder / file_of(form)
    size = sum(part.stat().st_size for part in file.parent.glob(f"{file.stem}.*"))
    return Exported(form, file_of(form).as_posix(), size / 1e6, lowest, float(cosines.mean()))


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide the libraries' remarks on optional packages and on preparation that does not change the result."""
    loggers = [
        logging.getLogger(name) for name in ("torch.onnx", "torch.onnx._internal.exporter._registration")
    ]
    levels = [logger.level for logger in loggers]
    root = logging.getLogger()

    def hide(record: logging.LogRecord) -> bool:
        return "pre-processing before quantization" not in record.getMessage()

    root.addFilter(hide)
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.removeFilter(hide)
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
