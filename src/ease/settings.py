"""Kedro's settings for this project."""

from __future__ import annotations

import os
import sys
import warnings

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("DO_NOT_TRACK", "true")
# Spark's workers would otherwise take the first Python on the path, which lacks this project's packages.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
# Said by libraries to each other's authors; nothing that a user of this project could act on.
warnings.filterwarnings("ignore", "register_new_resolver\\(\\) is deprecated")
warnings.filterwarnings("ignore", ".*Add type hints to the `predict` method")
warnings.filterwarnings("ignore", ".*fetch_arrow_table\\(\\) is deprecated")
warnings.filterwarnings("ignore", ".*future.infer_string")

from ease.hooks import (  # noqa: E402
    ConciseErrors,
    InUse,
    MlflowStore,
    Provenance,
    Tracking,
    TrailingColons,
    WorkFolders,
)

HOOKS = (
    ConciseErrors(),
    InUse(),
    MlflowStore(),
    Provenance(),
    Tracking(),
    TrailingColons(),
    WorkFolders(),
)
CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    "config_patterns": {
        "parameters": ["parameters*", "parameters*/**", "**/parameters*", "**/parameters/**"],
    },
    # An environment lays single keys over `base`; without this it would replace whole top-level entries.
    "merge_strategy": {"parameters": "soft", "globals": "soft"},
}
