"""Training: one loop for every method, on one or several devices, with exact resume.

Importing this package does not import torch, because Kedro imports it at every start.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ease.training.interruption import TrainingInterrupted
from ease.training.options import TrainingJob, TrainingOptions, TrainingResult

if TYPE_CHECKING:
    from ease.training.api import train
    from ease.training.entities import read_table
    from ease.training.job import development_evaluation, run_job

__all__ = [
    "TrainingInterrupted",
    "TrainingJob",
    "TrainingOptions",
    "TrainingResult",
    "development_evaluation",
    "read_table",
    "run_job",
    "train",
]

_IMPORT_TORCH = {"development_evaluation": "job", "read_table": "entities", "run_job": "job", "train": "api"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a name that needs torch on first use."""
        if name not in _IMPORT_TORCH:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_IMPORT_TORCH[name]}"), name)
