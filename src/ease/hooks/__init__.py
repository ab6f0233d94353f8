"""Hooks around every run."""

# The import sets how errors are shown: first, for Ctrl-C during the imports below.
from ease.hooks import process as process
from ease.hooks.mlflow import Tracking
from ease.hooks.names import Names
from ease.hooks.progress import RunProgress
from ease.hooks.runs import Guard, Provenance, Results

# Kedro calls the last one first.
HOOKS = (Results(), Names(), Provenance(), Tracking(), Guard(), RunProgress())
