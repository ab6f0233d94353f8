"""Hooks around every run."""

from ease.hooks.mlflow import MlflowRun, MlflowStore, Tracking
from ease.hooks.names import Names
from ease.hooks.runs import Checks, Provenance, Results, RunLocks

# Kedro calls the last one first.
HOOKS = (
    *(Results(), Names(), MlflowStore(), Checks()),
    *(Provenance(), Tracking(), RunLocks(), MlflowRun()),
)
