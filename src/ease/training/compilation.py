"""Transformer layers compiled by torch, which fuses the small operations between matrix products on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from sentence_transformers import SentenceTransformer
from torch._dynamo.exc import TorchDynamoException
from torch._inductor import config
from transformers.modeling_layers import GradientCheckpointingLayer

from ease.errors import EaseError


def compile_layers(encoder: SentenceTransformer, *, deterministic: bool) -> None:
    """Compile the layers of an encoder in place, for batches of any size; the saved encoder does not change.

    Layers of the same kind share one compilation, which the first step makes. A complete model would have to be
    compiled again for every kind of batch.

    Args:
        encoder: An encoder with a transformer.
        deterministic: Whether to choose the kernels without timing them, so that they are the same in every run.

    Raises:
        EaseError: If the encoder has no layers of transformers' usual class.
    """
    layers = [module for module in encoder.modules() if isinstance(module, GradientCheckpointingLayer)]
    if not layers:
        raise EaseError(
            f"{type(encoder[0]).__name__} has no transformer layers to compile: set `compiled: false`."
        )
    # The layers of all trainings in a process share their code, of which torch keeps at most eight compilations.
    torch.compiler.reset()
    # Older versions of torch have no such option.
    options = {"deterministic": deterministic} if hasattr(config, "deterministic") else None
    for layer in layers:
        layer.compile(dynamic=True, options=options)


@contextmanager
def report_compilation_errors() -> Iterator[None]:
    """Name the remedy where torch cannot compile, for example without a C++ compiler."""
    try:
        yield
    except TorchDynamoException as error:
        raise EaseError(
            f"torch cannot compile the encoder's layers here: set `compiled: false`. {error}"
        ) from error
