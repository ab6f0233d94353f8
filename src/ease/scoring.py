"""Scoring an encoder on evaluation tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import BaseModel, ValidationError
from sentence_transformers import SentenceTransformer

from ease.disk import hash_contents
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
    if not options.get(name):
        raise EaseError(f"No options for the task {name!r}: write them into parameters/tasks/{name}.yml.")
    try:
        validated = task.Options.model_validate(options[name])
        task.files(validated)  # refuses unknown subsets
        return validated
    except (ValidationError, EaseError) as error:
        raise EaseError(f"Options of the task {name!r}: {error}") from error


def at_paths(options: TaskOptions, located: Mapping[str, Mapping[str, str]]) -> TaskOptions:
    """Return the options of the located tasks with the addresses replaced by the paths of the files.

    Args:
        options: By task.
        located: Of each task the `path`, and the `sha256` of what lay there when it was located.

    Raises:
        EaseError: If something else lies there now.
    """
    for name, file in located.items():
        if hash_contents(Path(file["path"])) != file["sha256"]:
            raise EaseError(
                f"{file['path']} is not the evaluation set {name!r} that was located: its contents have changed. Put "
                "the old ones back, or run the pipeline `acquire_evaluation` again."
            )
    return {name: {**options[name], "path": file["path"]} for name, file in located.items()}


def task_name(reference: str) -> str:
    """Return the task that a setting names, `stsb`, or names with one of its subsets, `stsb:test`."""
    return reference.partition(":")[0]


def chosen_tasks(references: Sequence[str], options: TaskOptions) -> dict[str, dict[str, Any]]:
    """Return the options of the tasks that a setting names; the subsets named replace the configured ones.

    Args:
        references: Such as `stsb` or `stsb:test`.
        options: By task.
    """
    chosen: dict[str, dict[str, Any]] = {}
    for reference in references:
        name, _, subset = reference.partition(":")
        own = dict(options.get(name, {}))
        if subset:
            own["subsets"] = (*chosen.get(name, {}).get("subsets", ()), subset)
        chosen[name] = own
    return chosen


def score_tasks(encode: Encode, references: Sequence[str], options: TaskOptions) -> list[Score]:
    """Score an encoder on the tasks named, one score a subset."""
    chosen = chosen_tasks(references, options)
    return [score for name in chosen for score in get_task(name).evaluate(encode, task_options(name, chosen))]


def encode_with(encoder: SentenceTransformer | Path) -> Callable[[Sequence[str]], np.ndarray]:
    """Return the encoder as a function from n sentences to their embeddings, (n, dimension) float32."""
    if isinstance(encoder, SentenceTransformer):
        model = encoder
    else:
        model = load_encoder(str(encoder)).to("cuda" if torch.cuda.is_available() else "cpu")

    def encode(sentences: Sequence[str]) -> np.ndarray:
        return model.encode(list(sentences), batch_size=ENCODE_BATCH, show_progress_bar=False)

    return encode
