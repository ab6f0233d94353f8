"""A lock that lasts as long as a run, so that nothing that the run reads is removed."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl

from ease.io.locks import lock_data_for_run


class InUse:
    """Holds the lock on the data folder from the beginning of a run to the end of its process."""

    def __init__(self) -> None:
        self._data: Path | None = None
        self._lock: IO[bytes] | None = None

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Note where the data lies."""
        data = str(context.config_loader["globals"]["data"])
        self._data = None if "://" in data else Path(context.project_path) / data

    @hook_impl(tryfirst=True)
    def before_pipeline_run(self, run_params: dict[str, Any]) -> None:
        """Lock the data folder, beside other runs."""
        if self._data is not None and self._lock is None:
            self._lock = lock_data_for_run(self._data)
