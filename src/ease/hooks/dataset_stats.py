"""Rows, columns and size of every dataset, for Kedro-Viz."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.io.core import DatasetError

from ease.errors import EaseError
from ease.io.atomic import write_text_atomically
from ease.io.files import read_json
from ease.io.locks import writing

logger = logging.getLogger(__name__)

STATS_FILE = Path(".viz") / "stats.json"
"""Where Kedro-Viz reads statistics by the name of the dataset: `rows`, `columns` and `file_size`."""


class DatasetStats:
    """Writes the statistics of the datasets that a run saved, and of those that it loaded if they have none yet.

    Kedro-Viz's own hook supports only pandas data frames, and drops the statistics of earlier runs.
    """

    def __init__(self) -> None:
        self._file = STATS_FILE
        self._catalog = DataCatalog()
        self._stats: dict[str, dict[str, int]] = {}

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Find the file."""
        self._file = Path(context.project_path) / STATS_FILE

    @hook_impl
    def before_pipeline_run(self, catalog: DataCatalog) -> None:
        """Read the statistics of earlier runs, before Kedro-Viz's hook replaces them."""
        self._catalog = catalog
        self._stats = self._known()

    @hook_impl
    def after_dataset_loaded(self, dataset_name: str) -> None:
        """Record the statistics of a dataset that has none yet."""
        if "file_size" not in self._stats.get(dataset_name, {}):
            self._take(dataset_name)

    @hook_impl
    def after_dataset_saved(self, dataset_name: str) -> None:
        """Record the statistics of the new version."""
        self._take(dataset_name)

    @hook_impl(trylast=True)
    def after_pipeline_run(self) -> None:
        """Write the statistics, after Kedro-Viz's hook."""
        try:
            with writing(self._file.parent):  # another run may have added datasets
                write_text_atomically(self._file, json.dumps(self._known() | self._stats, indent=1))
        except EaseError as error:
            logger.warning("Kedro-Viz will not show this run's statistics of datasets: %s", error)

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Write the statistics of what was saved before the error."""
        self.after_pipeline_run()

    def _known(self) -> dict[str, dict[str, int]]:
        known = read_json(self._file)
        return known if isinstance(known, dict) else {}

    def _take(self, name: str) -> None:
        from ease.datasets.files import AtomicSave  # imports Plotly Express

        dataset: Any = self._catalog.get(name)
        if not isinstance(dataset, AtomicSave):
            return
        try:
            self._stats[name] = dataset.statistics()
        except (OSError, EaseError, DatasetError, pa.ArrowException) as error:
            logger.warning("Kedro-Viz will show no statistics of %s: %s", name, error)
