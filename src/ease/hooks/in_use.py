"""A lock that protects the data of a running command from `make prune`."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl

from ease.io.locks import lock_data_for_run


class InUse:
    """Holds a shared lock on the data folder from the start of a run to the end of its process."""

    def __init__(self) -> None:
        self._data: Path | None = None
        self._lock: IO[bytes] | None = None

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Locate the data folder; a remote one has no lock."""
        data = str(context.config_loader["globals"]["data"])
        self._data = None if "://" in data else Path(context.project_path) / data

    @hook_impl(tryfirst=True)
    def before_pipeline_run(self, run_params: dict[str, Any]) -> None:
        """Acquire the lock, which several runs share."""
        if self._data is not None and self._lock is None:
            self._lock = lock_data_for_run(self._data)
