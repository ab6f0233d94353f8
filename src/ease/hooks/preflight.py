"""Refuse a run that would fail late, before its first node and before MLflow opens a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from ease.errors import EaseError


class Preflight:
    """Checks encoders, evaluation sets, folders and free disk space before the first node."""

    def __init__(self) -> None:
        self._globals: dict[str, Any] = {}

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Remember the data folder and the required disk space."""
        self._globals = context.config_loader["globals"]

    @hook_impl(tryfirst=True)
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog
    ) -> None:
        """Check what the nodes of the run need.

        Raises:
            EaseError: With all faults, one per line.
        """
        # Imported late: most commands run nothing.
        from ease.pipelines.preflight import find_faults

        if run_params.get("only_missing_outputs"):
            pipeline = Pipeline(
                [node for node in pipeline.nodes if not all(map(catalog.exists, node.outputs))]
            )
        free = round(self._globals["free_disk_gb"] * 1e9)
        faults = find_faults(pipeline, catalog, Path(self._globals["data"]), free)
        if len(faults) > 1:
            listed = "".join(f"\n- {fault}" for fault in faults)
            raise EaseError(f"{len(faults)} faults, found before anything was run:{listed}")
        if faults:
            raise EaseError(faults[0])
