"""Encoders as ONNX and OpenVINO models, in single precision and with 8-bit weights, each checked against torch.

Importing this package does not import torch.
"""

from ease.encoders.exports.forms import FORMS, LEAST_COSINE, Form, file_of

__all__ = ["FORMS", "LEAST_COSINE", "Form", "file_of"]
