"""One process of a training run: `torchrun --nproc-per-node=2 -m ease.training JOB_FOLDER`."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from pathlib import Path

import torch

from ease.errors import EaseError
from ease.io.atomic import write_text_atomically
from ease.methods.components.distributed import process_rank
from ease.options import validate
from ease.training.job import run_job
from ease.training.options import TrainingJob
from ease.training.processes import FAILURE, TrainingInterrupted

logger = logging.getLogger("ease.training")

INTERRUPTED = 75
"""Exit status of a process that was stopped after saving a checkpoint (EX_TEMPFAIL)."""


def main(arguments: list[str] | None = None) -> int:
    """Run the job of a folder's job.json; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m ease.training", description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder with job.json")
    folder: Path = parser.parse_args(arguments).folder
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    status = 1
    try:
        run_job(read_job(folder))
        status = 0
    except TrainingInterrupted as error:
        status = INTERRUPTED
        if not process_rank():
            logger.warning("%s", error)
            write_text_atomically(folder / FAILURE, json.dumps({"step": error.step, "steps": error.steps}))
    except EaseError as error:
        logger.error("%s", error)
        if folder.is_dir():
            write_text_atomically(folder / FAILURE, json.dumps({"message": str(error)}))
    finally:
        # After a failure, the other processes may be waiting in a collective call: do not start another.
        if torch.distributed.is_initialized() and status != 1:
            torch.distributed.destroy_process_group()
    return status


def read_job(folder: Path) -> TrainingJob:
    """Read a job from its folder."""
    path = folder / "job.json"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise EaseError(f"No training job at {path}: give the work folder of a training run.") from error
    return validate(TrainingJob, text, f"{path} is not a valid training job")


if __name__ == "__main__":
    sys.exit(main())
