"""What a training depends on, as one hash: equal hashes mean that a checkpoint or a result may be used."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
import transformers

from ease.io.files import hash_contents
from ease.io.result_versions import TRAINING
from ease.training.options import TrainingJob

WITHOUT_EFFECT = {"checkpoint_every", "threads", "processes"}
"""Options that change neither the data nor, but for rounding, the course of a training."""


def fingerprint_of(job: TrainingJob, processes: int) -> str:
    """Hash a job by the contents of its files, not their paths: a rerun may keep the same table elsewhere.

    Args:
        job: What is trained.
        processes: How many share each batch; a checkpoint holds the random state of each.
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
        "method_options": job.method_options.model_dump(mode="json"),
        "development": {
            name: {**options, "path": _contents(options.get("path"))}
            for name, options in job.development.items()
        },
        "training": job.training.model_dump(exclude=WITHOUT_EFFECT),
        "processes": processes,
    }
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def _encoder(name: str) -> str:
    """Hash a saved encoder without its card, to which evaluation adds scores; a hub name stays as it is."""
    folder = Path(name)
    if not (folder / "README.md").is_file():
        return _contents(name) or ""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file != folder / "README.md")
    listed = [f"{file.relative_to(folder).as_posix()} {hash_contents(file)}" for file in files]
    return hashlib.sha256("\n".join(listed).encode()).hexdigest()


def _contents(path: str | Path | None) -> str | None:
    """Hash a file or a folder; the name of an encoder on the hub stays as it is."""
    if path is None or not Path(path).exists():
        return path if path is None else str(path)
    return hash_contents(Path(path))
