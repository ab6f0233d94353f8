"""Hooks around every run."""

from ease.hooks.mlflow import MlflowRun, MlflowStore, Tracking
from ease.hooks.names import Names
from ease.hooks.runs import Guard, Provenance, Results

# Kedro calls the last one first.
HOOKS = (Results(), Names(), MlflowStore(), Provenance(), Tracking(), Guard(), MlflowRun())
