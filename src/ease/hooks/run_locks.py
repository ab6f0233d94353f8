"""Locks of a run: on the data, against `make prune`, and on its work folders."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl

from ease.io.locks import lock_data_for_run
from ease.pipelines.work import release_work


class RunLocks:
    """Holds a shared lock on the data folder until the process ends, and releases work folders when a run ends."""

    def __init__(self) -> None:
        self._data: Path | None = None
        self._lock: IO[bytes] | None = None

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Locate the data folder; a remote one has no lock."""
        data = str(context.config_loader["globals"]["data"])
        self._data = None if "://" in data else Path(context.project_path) / data

    @hook_impl(tryfirst=True)
    def before_pipeline_run(self) -> None:
        """Release folders that an interrupted run of this process, such as a notebook's, still holds; lock the data."""
        release_work()
        if self._data is not None and self._lock is None:
            self._lock = lock_data_for_run(self._data)

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Release the folders of a complete run."""
        release_work(succeeded=True)

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Release the folders of a failed run."""
        release_work()
