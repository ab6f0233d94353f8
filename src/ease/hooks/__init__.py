"""Hooks around every run."""

from ease.hooks.mlflow import MlflowRun, MlflowStore, Tracking
from ease.hooks.names import Names
from ease.hooks.runs import Checks, DatasetStats, Provenance, Results, RunLocks

# Kedro calls the last one first.
HOOKS = (
    *(Results(), Names(), DatasetStats(), MlflowStore(), Checks()),
    *(Provenance(), Tracking(), RunLocks(), MlflowRun()),
)
