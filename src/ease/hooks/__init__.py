"""Hooks around every run: outline of the steps, one-line errors, provenance, statistics, MLflow logging."""

from ease.hooks.dataset_stats import DatasetStats
from ease.hooks.errors import ConciseErrors
from ease.hooks.mlflow_plugin import MlflowRun
from ease.hooks.mlflow_store import MlflowStore
from ease.hooks.outline import Outline
from ease.hooks.preflight import Preflight
from ease.hooks.provenance import Provenance
from ease.hooks.run_locks import RunLocks
from ease.hooks.tracking import Tracking
from ease.hooks.unscored import UnscoredNamed

# Kedro calls the last one first.
HOOKS = (
    *(UnscoredNamed(), Outline(), ConciseErrors(), DatasetStats(), MlflowStore(), Preflight()),
    *(Provenance(), Tracking(), RunLocks(), MlflowRun()),
)
