"""kedro-mlflow's hook without its parameters, which it would log a second time and as text."""

from __future__ import annotations

from typing import Any

from kedro_mlflow.framework.hooks import MlflowHook


class MlflowRun(MlflowHook):
    """Opens the run of a `kedro run` and ends it; `Tracking` logs the parameters."""

    def _log_param(self, name: str, value: Any) -> None:
        """Log nothing."""
