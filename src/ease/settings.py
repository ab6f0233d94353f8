"""Kedro's settings for this project."""

from __future__ import annotations

from ease.hooks import HOOKS as HOOKS
from ease.hooks.configuration import ConfigLoader

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
