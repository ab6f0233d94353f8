"""Encode texts by an exported encoder, with its own library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer

from ease.encoders.exports.forms import INPUTS, OUTPUT, Form, file_of, silent
from ease.encoders.prompts import prompt_named

Run = Callable[[dict[str, np.ndarray]], np.ndarray]


class ExportedEncoder:
    """A tokenizer and an exported model: texts to embeddings."""

    def __init__(self, tokenizer: Any, run: Run, max_length: int | None, prompt: str = "") -> None:
        """Use a tokenizer of transformers, a function of its ids and masks, and a prompt before each text."""
        self._tokenizer = tokenizer
        self._run = run
        self._max_length = max_length
        self._prompt = prompt

    def encode(self, texts: Sequence[str], batch_size: int = 32) -> np.ndarray:
        """Encode texts: (n, dimension) float32. Texts of a batch have similar lengths."""
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        found = [
            self._run(self._tokens([texts[row] for row in order[start : start + batch_size]]))
            for start in range(0, len(order), batch_size)
        ]
        places = np.empty(len(order), dtype=np.int64)
        places[order] = np.arange(len(order))
        embeddings: np.ndarray = np.concatenate(found)[places]
        return embeddings

    def _tokens(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        tokens = self._tokenizer(
            [self._prompt + text for text in texts],
            padding=True,
            truncation=self._max_length is not None,
            max_length=self._max_length,
            return_tensors="np",
        )
        return {name: tokens[name].astype(np.int64) for name in INPUTS}


def load_exported(
    form: Form, folder: Path, encoder: SentenceTransformer, threads: int | None = None
) -> ExportedEncoder:
    """Load an exported form.

    Args:
        form: Its name.
        folder: The folder that has the file `file_of(form)`.
        encoder: The same encoder in torch, for its tokenizer, its greatest length and its default prompt.
        threads: Threads of the library; None: as many as the library chooses.
    """
    load = _load_onnx if form.startswith("onnx") else _load_openvino
    prompt = prompt_named(encoder.prompts, encoder.default_prompt_name)
    return ExportedEncoder(
        encoder.tokenizer, load(folder / file_of(form), threads), encoder.max_seq_length, prompt
    )


def _load_onnx(file: Path, threads: int | None) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    options.intra_op_num_threads = threads or 0
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])

    def run(tokens: dict[str, np.ndarray]) -> np.ndarray:
        embeddings: np.ndarray = session.run([OUTPUT], tokens)[0]
        return embeddings

    return run


@cache
def openvino_core() -> Any:
    """Return OpenVINO's core, one for the process.

    Each core replaces the stack for signals and restores the former one when it ends. After two cores whose lifetimes
    overlap, that is a stack which no longer exists, and the next signal, such as Ctrl-C, ends the process.
    """
    return silent("openvino").Core()


def _load_openvino(file: Path, threads: int | None) -> Run:
    # On some processors the default is bfloat16, whose cosines to torch are lower.
    options: dict[str, Any] = {"INFERENCE_PRECISION_HINT": "f32"}
    if threads:
        options["INFERENCE_NUM_THREADS"] = threads
    model = openvino_core().compile_model(file, "CPU", options)

    def run(tokens: dict[str, np.ndarray]) -> np.ndarray:
        embeddings: np.ndarray = model(tokens)[OUTPUT]
        return embeddings

    return run
