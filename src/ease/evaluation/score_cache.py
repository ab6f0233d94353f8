"""Scores kept on disk, so that a stopped evaluation resumes after its last complete task."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ease.evaluation.tasks import Score
from ease.io.atomic import write_text_atomically
from ease.io.files import report_write_errors


def cached_scores(
    folder: Path | None, task: str, depends_on: Any, compute: Callable[[], Sequence[Score]]
) -> list[Score]:
    """Return a model's scores on a task; compute them only if they are not in the model's folder.

    The cache key is `depends_on`: the task's options, versions of its data and the like, as JSON. Without a folder, the
    scores are always computed.
    """
    if folder is None:
        return list(compute())
    key = hashlib.sha256(json.dumps(depends_on, sort_keys=True).encode()).hexdigest()[:16]
    file = folder / f"{task}-{key}.json"
    if file.is_file():
        return [Score(**fields) for fields in json.loads(file.read_text(encoding="utf-8"))]
    scores = list(compute())
    with report_write_errors(file):
        folder.mkdir(parents=True, exist_ok=True)
    write_text_atomically(file, json.dumps([asdict(score) for score in scores], indent=2))
    return scores
