"""Hooks around every run."""

from ease.hooks.mlflow import Tracking
from ease.hooks.names import Names
from ease.hooks.runs import Guard, Provenance, Results

# Kedro calls the last one first.
HOOKS = (Results(), Names(), Provenance(), Tracking(), Guard())
