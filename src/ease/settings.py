"""Kedro's settings for this project."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from types import TracebackType
from typing import Any

# With Python's default of 700, garbage collection takes an eighth of the CPU time of a small run.
gc.set_threshold(50_000)
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
os.environ.setdefault("DO_NOT_TRACK", "true")
# Otherwise Spark's workers start the first Python on the path, which does not have this project's packages.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

# Warnings of libraries about other libraries, which a user of this project cannot fix.
warnings.filterwarnings("ignore", "register_new_resolver\\(\\) is deprecated")
warnings.filterwarnings("ignore", ".*fetch_arrow_table\\(\\) is deprecated")
warnings.filterwarnings("ignore", ".*future.infer_string")
warnings.filterwarnings("ignore", "One or more dataset names contain")
_show_warning = warnings.showwarning


def _show_other_warnings(message: Warning | str, *arguments: Any, **options: Any) -> None:
    """Show a warning, except one that MLflow shows on import in spite of the filters."""
    if "Add type hints to the `predict` method" not in str(message):
        _show_warning(message, *arguments, **options)


warnings.showwarning = _show_other_warnings


def _show_stop(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print one line for Ctrl-C during the imports below, which take seconds."""
    if issubclass(kind, KeyboardInterrupt):
        sys.stderr.write("Stopped.\n")
    else:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _show_stop

from ease.hooks import HOOKS as HOOKS  # noqa: E402
from ease.hooks.names import ConfigLoader  # noqa: E402
from ease.hooks.runs import show_exception  # noqa: E402

sys.excepthook = show_exception  # before the configuration is read

# Where this plugin is installed, it would open a second run.
DISABLE_HOOKS_FOR_PLUGINS = ("kedro-mlflow", "kedro_mlflow")
CONFIG_LOADER_CLASS = ConfigLoader
CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    "config_patterns": {
        "parameters": ["parameters*", "parameters*/**", "**/parameters*", "**/parameters/**"],
        "mlflow": ["mlflow*", "**/mlflow*"],
    },
    # An environment overrides single keys of `base`; by default it would replace top-level entries.
    "merge_strategy": {"parameters": "soft", "globals": "soft", "mlflow": "soft"},
}
