"""What a training depends on, as one hash: equal hashes mean that a checkpoint or a result may be used."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ease.training.options import TrainingJob

WITHOUT_EFFECT = {"checkpoint_every", "threads", "processes"}
"""Options that change neither the data nor, but for rounding, the course of a training."""


def fingerprint_of(job: TrainingJob, processes: int) -> str:
    """Hash a job by the contents of its files, not their paths: a rerun may keep the same table elsewhere."""
    described: dict[str, Any] = {
        "pairs": job.pairs,
        "encoder": job.encoder,
        "vocabulary": job.vocabulary,
        "table": job.table,
        "pooling": job.pooling,
        "method": job.method,
        "method_options": job.method_options,
        "development": job.development,
        "training": job.training.model_dump(exclude=WITHOUT_EFFECT),
        "processes": processes,
    }
    text = json.dumps(_with_contents(described), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _with_contents(value: Any) -> Any:
    """Put the hash of a file or folder in the place of its path."""
    if isinstance(value, dict):
        return {name: _with_contents(part) for name, part in value.items()}
    if isinstance(value, str | Path) and str(value) and Path(value).exists():
        return _hash_path(Path(value))
    return value


def _hash_path(path: Path) -> str:
    if path.is_file():
        with path.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    files = sorted(file for file in path.rglob("*") if file.is_file())
    listed = [f"{file.relative_to(path)} {_hash_path(file)}" for file in files]
    return hashlib.sha256("\n".join(listed).encode()).hexdigest()
