"""kedro-mlflow's hook without its logging of parameters."""

from __future__ import annotations

from typing import Any

from kedro_mlflow.framework.hooks import MlflowHook


class MlflowRun(MlflowHook):
    """Opens the MLflow run of a `kedro run` and ends it; `Tracking` logs the parameters."""

    def _log_param(self, name: str, value: Any) -> None:
        """Log nothing: kedro-mlflow would log a group of options as one text."""
