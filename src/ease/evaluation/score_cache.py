"""Scores kept on disk, so that a stopped evaluation resumes after its last complete task.

Files beside the scores have their items, so that encoders can later be compared on the same items.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ease.evaluation.item_files import write_items
from ease.evaluation.resampling import with_intervals
from ease.evaluation.tasks import Score
from ease.io.atomic import write_text_atomically
from ease.io.files import report_write_errors
from ease.io.locks import writing

ITEMS = ".items.parquet"
"""Ending of the files of items, in place of `.json` of the scores."""


def cached_scores(
    folder: Path | None, task: str, depends_on: Any, compute: Callable[[], Sequence[Score]]
) -> list[Score]:
    """Return a model's scores on a task with their intervals; compute them only if the model's folder lacks them.

    The cache key is `depends_on`: the task's options, versions of its data and the like, as JSON. Without a folder, the
    scores are always computed.
    """
    if folder is None:
        return with_intervals(compute())[0]
    file = folder / f"{task}-{cache_key(depends_on)}.json"
    if file.is_file() and items_file(folder, task, depends_on).is_file():
        return [Score(**fields) for fields in json.loads(file.read_text(encoding="utf-8"))]
    scores, resampled = with_intervals(compute())
    with writing(folder), report_write_errors(file):  # another run may have scored the same encoder
        write_items(items_file(folder, task, depends_on), scores, resampled)
        write_text_atomically(file, json.dumps([score.row() for score in scores], indent=2))
    return scores


def items_file(folder: Path, task: str, depends_on: Any) -> Path:
    """Return the file of the items of a task's scores."""
    return folder / f"{task}-{cache_key(depends_on)}{ITEMS}"


def cache_key(depends_on: Any) -> str:
    """Return 16 hexadecimal digits of what the scores depend on."""
    return hashlib.sha256(json.dumps(depends_on, sort_keys=True).encode()).hexdigest()[:16]
