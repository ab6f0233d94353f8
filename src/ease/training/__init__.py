"""Training: one loop for every method, on one or several devices, that resumes exactly."""

from ease.training.entities import read_table
from ease.training.interruption import TrainingInterrupted
from ease.training.job import development_evaluation, run_job
from ease.training.options import TrainingJob, TrainingOptions, TrainingResult

__all__ = [
    "TrainingInterrupted",
    "TrainingJob",
    "TrainingOptions",
    "TrainingResult",
    "development_evaluation",
    "read_table",
    "run_job",
]
