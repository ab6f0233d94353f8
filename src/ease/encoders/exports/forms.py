"""Names, files and smallest cosines of the exported forms; imports no slow library."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

Form = Literal["onnx", "onnx_int8", "openvino", "openvino_int8"]
FORMS: tuple[Form, ...] = get_args(Form)

LEAST_COSINE: dict[Form, float] = {
    "onnx": 0.9999,
    "onnx_int8": 0.98,
    "openvino": 0.9999,
    "openvino_int8": 0.98,
}
"""Smallest cosine of a text's exported embedding to that of torch."""

INPUTS = ("input_ids", "attention_mask")
OUTPUT = "sentence_embedding"

INSTALL = "pip install 'ease-embeddings[export]'"


def file_of(form: Form) -> Path:
    """Return the file of a form below the folder of its encoder; an OpenVINO model also has a `.bin` beside it."""
    kind, _, quantized = form.partition("_")
    ending = "onnx" if kind == "onnx" else "xml"
    return Path(kind, f"model{'_int8' if quantized else ''}.{ending}")


def silent(module: str) -> Any:
    """Import `openvino` or `nncf` as if openvino-telemetry, which reports each conversion to a server, were missing."""
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    return import_module(module)
