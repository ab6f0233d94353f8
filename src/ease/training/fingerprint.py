"""A hash of everything that a training depends on; checkpoints and results with the same hash can be reused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import transformers

from ease.evaluation.scoring import task_options
from ease.evaluation.tasks import get_task
from ease.io.files import hash_contents
from ease.io.names import RUN_FILE
from ease.io.result_versions import TRAINING
from ease.training.accelerator import uses_gpu
from ease.training.options import TrainingJob

WITHOUT_EFFECT = {"checkpoint_seconds", "checkpoint_share", "entity_memory", "threads", "processes"}
"""Options that do not change the result of a training, except for rounding"""


NOTES = {"README.md", RUN_FILE}
"""Files of a saved encoder to which runs write: its card has scores, and each run that uses it has a number"""


def fingerprint_of(job: TrainingJob, processes: int) -> str:
    """Hash a job, with its files' contents instead of their paths, because a rerun may write the same table elsewhere.

    The number of processes counts, because a checkpoint has the random state of each.
    """
    described: dict[str, Any] = {
        "code": TRAINING,
        "libraries": [torch.__version__, transformers.__version__],
        "pairs": _contents(job.pairs),
        "encoder": _encoder(job.encoder),
        "vocabulary": _contents(job.vocabulary),
        "table": _contents(job.table),
        "pooling": job.pooling,
        "method": job.method,
        "method_options": _method_options(job),
        "development": {name: _development(name, options) for name, options in job.development.items()},
        "training": job.training.model_dump(exclude={*WITHOUT_EFFECT, "teacher", "guide"}),
        **_frozen(job),
        # Decided by encoder, method and device
        **({"automatic_on_gpu": uses_gpu(job.training)} if job.training.packed == "auto" else {}),
        "processes": processes,
    }
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def _development(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a development task by its options and the contents of its files, whatever else is in their folder."""
    read = get_task(name).files(task_options(name, {name: options}))
    contents = {subset: [_contents(file) for file in files] for subset, files in read.items()}
    return {**options, "path": None, "files": contents}


def _frozen(job: TrainingJob) -> dict[str, Any]:
    """Describe teacher and guide by their contents; nothing without them."""
    given = {"teacher": job.training.teacher, "guide": job.training.guide}
    return {
        role: {
            **options.model_dump(exclude={"encoder", "batch_size", "cache"}),
            "encoder": _encoder(options.located(job.encoder)),
        }
        for role, options in given.items()
        if options.encoder is not None
    }


def _method_options(job: TrainingJob) -> dict[str, Any]:
    """Describe the method's parameters, with DuEAM's anchor by its contents."""
    options = job.method_options.model_dump(mode="json")
    if anchor := options.get("anchor"):
        options["anchor"] = _encoder(anchor)
    return options


def _encoder(name: str) -> str:
    """Hash what a saved encoder computes from; return a hub name unchanged."""
    folder = Path(name)
    if not folder.is_dir():
        return _contents(name) or ""
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    listed = [f"{place} {_encoder_file(file)}" for place, file in sorted(files.items()) if place not in NOTES]
    return hashlib.sha256("\n".join(listed).encode()).hexdigest()


def _encoder_file(file: Path) -> str:
    """Hash a file of an encoder; encoding sets a tokenizer's padding and truncation, which change nothing."""
    if file.name != "tokenizer.json":
        return hash_contents(file)
    described = {**json.loads(file.read_text(encoding="utf-8")), "padding": None, "truncation": None}
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def _contents(path: str | Path | None) -> str | None:
    """Hash a file or folder; return the name of an encoder on the hub unchanged."""
    if path is None or not Path(path).exists():
        return path if path is None else str(path)
    return hash_contents(Path(path))
