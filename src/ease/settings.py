"""Kedro's settings for this project."""

from __future__ import annotations

import os

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("DO_NOT_TRACK", "true")

from ease.hooks import ConciseErrors, Provenance, Tracking  # noqa: E402

HOOKS = (ConciseErrors(), Provenance(), Tracking())
CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    "config_patterns": {
        "parameters": ["parameters*", "parameters*/**", "**/parameters*", "**/parameters/**"],
    },
    # An environment lays single keys over `base`; without this it would replace whole top-level entries.
    "merge_strategy": {"parameters": "soft", "globals": "soft"},
}
