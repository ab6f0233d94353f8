"""Encoders as ONNX and OpenVINO models, in single precision and with 8-bit weights, each checked against torch."""

from ease.encoders.exports.exporting import Exported, check_forms, export_encoder
from ease.encoders.exports.forms import FORMS, LEAST_COSINE, Form, file_of
from ease.encoders.exports.running import ExportedEncoder, load_exported

__all__ = [
    "FORMS",
    "LEAST_COSINE",
    "Exported",
    "ExportedEncoder",
    "Form",
    "check_forms",
    "export_encoder",
    "file_of",
    "load_exported",
]
