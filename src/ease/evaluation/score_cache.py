"""Scores kept on disk as they are computed, so that a run that was stopped does not compute them again."""

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


class ScoreCache:
    """The scores of one model, a JSON file for each task and what its scores depend on."""

    def __init__(self, folder: Path | None) -> None:
        """Use a folder, which is made when the first scores are kept; None: keep nothing."""
        self._folder = folder

    def scores(self, task: str, depends_on: Any, compute: Callable[[], Sequence[Score]]) -> list[Score]:
        """Return the scores of a task, computed unless they are known.

        Args:
            task: Its name.
            depends_on: The task's options, the versions of its data and the like, as JSON.
            compute: Scores the model on the task.
        """
        if self._folder is None:
            return list(compute())
        key = hashlib.sha256(json.dumps(depends_on, sort_keys=True).encode()).hexdigest()[:16]
        file = self._folder / f"{task}-{key}.json"
        if file.is_file():
            return [Score(**fields) for fields in json.loads(file.read_text(encoding="utf-8"))]
        scores = list(compute())
        with report_write_errors(file):
            file.parent.mkdir(parents=True, exist_ok=True)
        write_text_atomically(file, json.dumps([asdict(score) for score in scores], indent=2))
        return scores
