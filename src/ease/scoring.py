"""Scoring an encoder on evaluation tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ValidationError
from sentence_transformers import SentenceTransformer

from ease.encoder import load_encoder
from ease.errors import EaseError
from ease.tasks import Encode, Score, get_task

ENCODE_BATCH = 256
"""Sentences encoded at once."""


TaskOptions = Mapping[str, Mapping[str, Any]]
"""Each task's options by its name."""


def task_options(name: str, options: TaskOptions) -> BaseModel:
    """Build the options of the task `name` from the configured ones.

    Raises:
        EaseError: If the task is unknown, is not configured, or an option is wrong.
    """
    task = get_task(name)
    if name not in options:
        raise EaseError(f"No options for the task {name!r}: write them into parameters/tasks/{name}.yml.")
    try:
        return task.Options.model_validate(options[name])
    except ValidationError as error:
        raise EaseError(f"Options of the task {name!r}: {error}") from error


def at_paths(options: TaskOptions, located: Mapping[str, Mapping[str, str]]) -> TaskOptions:
    """Return the options of the located tasks with the addresses replaced by the paths of the files."""
    return {name: {**options[name], "path": file["path"]} for name, file in located.items()}


def score_tasks(encode: Encode, names: Sequence[str], options: TaskOptions) -> list[Score]:
    """Score an encoder on the tasks `names`, one score a subset."""
    return [score for name in names for score in get_task(name).evaluate(encode, task_options(name, options))]


def encode_with(encoder: SentenceTransformer | Path) -> Callable[[Sequence[str]], np.ndarray]:
    """Return the encoder as a function from n sentences to their embeddings, (n, dimension) float32."""
    model = encoder if isinstance(encoder, SentenceTransformer) else load_encoder(str(encoder))

    def encode(sentences: Sequence[str]) -> np.ndarray:
        return model.encode(list(sentences), batch_size=ENCODE_BATCH, show_progress_bar=False)

    return encode
