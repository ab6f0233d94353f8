"""Score any encoder on evaluation tasks, without Kedro."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from sentence_transformers import SentenceTransformer

from ease.arguments import Count, checked
from ease.encoders.encoder import load_for_evaluation
from ease.encoders.encoding import encode_with, move_to_device
from ease.encoders.options import EncodingOptions, LoadingOptions
from ease.encoders.prompts import check_prompts, summarize_prompts
from ease.errors import EaseError
from ease.evaluation.resampling import with_intervals
from ease.evaluation.scoring import score_tasks, select_tasks
from ease.evaluation.tasks import package_tasks
from ease.evaluation.tasks.base import Task, missing_files
from ease.io.progress import ProgressBar, report_progress
from ease.options import validate

logger = logging.getLogger(__name__)

Tasks = str | Sequence[str] | Mapping[str, Mapping[str, Any]]


@checked
def evaluate(
    model: SentenceTransformer | str | Path,
    tasks: Tasks,
    data: str | Path = ".",
    *,
    batch_size: Count | None = None,
    precision: str = "auto",
    cache: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Score an encoder on evaluation tasks.

    Args:
        model: An encoder in memory, its folder, or its name on the Hugging Face hub.
        tasks: Names of tasks, such as `stsb`, or of single subsets, such as `stsb:test`; or each task's options by its
            name, which replace the package's. A new name with the option `kind` is a task of your own.
            docs/evaluation.md lists the tasks, their files and the kinds.
        data: Folder that holds each task's files in a folder of the task's name. The option `path` of a task replaces
            that name.
        batch_size: Sentences encoded at once; by default as many as have 1,024 tokens on a CPU (in bf16 2,048), 16,384
            on a GPU (in TF32 or bf16 65,536).
        precision: `fp32` computes as the weights are, `tf32` and `bf16` faster on some devices; `auto` is bf16 on CPUs
            that multiply faster in it for all but small encoders, else fp32 (docs/evaluation.md).
        cache: Folder that keeps embeddings between calls; None keeps none.
        options: For an encoder given by its name: values that replace those that it was saved with, such as prompts,
            pooling and dimension, as in `evaluate.baselines`.

    Returns:
        One row per score: task, subset, metric, value (points; 100 is the best, a correlation may be negative),
        deviation, note, and the limits of the 95% interval, low and high.

    Raises:
        EaseError: If a task is unknown, its data are missing or wrong, or the encoder does not load.

    Example:
        >>> import ease
        >>> ease.evaluate("sentence-transformers/LaBSE", ["tatoeba:deu-eng", "stsb:test"], data="evaluation")
    """
    if options and not isinstance(model, str | Path):
        raise EaseError("`options` are for an encoder given by its name: change the encoder in memory itself.")
    names = [tasks] if isinstance(tasks, str) else list(tasks)
    if not names:
        raise EaseError("No task is named: name one, such as stsb (docs/evaluation.md lists the tasks).")
    changes = tasks if isinstance(tasks, Mapping) else {}
    parameters = package_tasks(changes)
    for name in parameters:
        path = changes.get(name, {}).get("path", name)
        # Anything else is refused with the task's other options.
        if isinstance(path, str | Path):
            path = Path(data) / path
        parameters[name]["path"] = path
    selected = select_tasks(names, parameters)
    # Before the encoder is loaded, which may take minutes.
    for name, task in selected.items():
        _require_files(name, task)
    encoding = validate(
        EncodingOptions,
        {"batch_size": batch_size, "precision": precision, "cache": cache or None},
        "How to encode",
    )
    loading = validate(LoadingOptions, dict(options or {}), "`options`")
    check_prompts(loading.prompts, list(parameters))
    if isinstance(model, str | Path):
        model = move_to_device(load_for_evaluation(str(model), loading))
    encode = encode_with(model, encoding)
    prompts = {name: encode.for_task(name, task.task_type).describe_prompts() for name, task in selected.items()}
    logger.info("Prompts: %s", summarize_prompts(prompts))
    with report_progress(lambda: "Scoring"):
        scores, _ = with_intervals(
            score_tasks(encode, ProgressBar(selected.values(), desc="tasks", unit="task", delay=2))
        )
    return pd.DataFrame([score.row() for score in scores]).drop(columns=["main", "task_type"], errors="ignore")


def _require_files(name: str, task: Task) -> None:
    """Refuse a task without the files of a single subset; say where they come from."""
    files = task.files()
    missing = missing_files(files)
    if files and len(missing) == len(files):
        absent = next(iter(missing.values()))[0]
        raise EaseError(
            f"{absent}: no such file of the task {name!r}. Give the folder that holds the task's folder as `data=`, or "
            f"set the task's `path`. The files are from {task.options.source}; in a project, `kedro run "
            f"--pipelines=acquire_evaluation --params evaluate.tasks={name},acquire_evaluation.fetch=true` downloads "
            "those that their licences allow to download."
        )
