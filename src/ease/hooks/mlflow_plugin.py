"""kedro-mlflow's hook without its logging of parameters."""

from __future__ import annotations

from typing import Any

import mlflow
from kedro.framework.hooks import hook_impl
from kedro_mlflow.framework.hooks import MlflowHook


class MlflowRun(MlflowHook):
    """Opens the MLflow run of a `kedro run` and ends it; `Tracking` logs the parameters."""

    def _log_param(self, name: str, value: Any) -> None:
        """Log nothing: kedro-mlflow would log a group of options as one text."""

    @hook_impl
    def after_pipeline_run(self, run_params: dict[str, Any], pipeline: Any, catalog: Any) -> None:
        """End the run as often as it was opened; the next run of this process would otherwise log into it."""
        super().after_pipeline_run(run_params, pipeline, catalog)
        while not self._already_active_mlflow and mlflow.active_run():
            mlflow.end_run()
