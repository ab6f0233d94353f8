"""Refuse a run that would stop late, before its first node and before MLflow opens a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from ease.errors import EaseError


class Preflight:
    """Looks for faults that are known before the first node: encoders, evaluation sets, folders, free disk."""

    def __init__(self) -> None:
        self._globals: dict[str, Any] = {}

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Keep where data lie, and how much of the disk must be free."""
        self._globals = context.config_loader["globals"]

    @hook_impl(tryfirst=True)
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog
    ) -> None:
        """Check what the run's nodes need.

        Raises:
            EaseError: Naming all faults at once, one a line.
        """
        # Imported late: most commands run nothing.
        from ease.pipelines.preflight import find_faults

        if run_params.get("only_missing_outputs"):
            pipeline = _missing(pipeline, catalog)
        faults = find_faults(
            pipeline, catalog, Path(self._globals["data"]), round(self._globals["free_disk_gb"] * 1e9)
        )
        if len(faults) > 1:
            listed = "".join(f"\n- {fault}" for fault in faults)
            raise EaseError(f"{len(faults)} faults, found before anything was run:{listed}")
        if faults:
            raise EaseError(faults[0])


def _missing(pipeline: Pipeline, catalog: DataCatalog) -> Pipeline:
    """Return the nodes one of whose outputs does not exist."""
    return Pipeline(
        [node for node in pipeline.nodes if not all(catalog.exists(name) for name in node.outputs)]
    )
