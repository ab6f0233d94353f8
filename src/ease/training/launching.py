"""Launcher of a training in several processes on this machine, by torchrun; it forwards their metrics."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from itertools import takewhile
from pathlib import Path

import torch

import ease
from ease.errors import EaseError
from ease.io.files import read_json
from ease.io.locks import FolderLock
from ease.training.interruption import LAUNCHER_VARIABLE, TrainingInterrupted, stop_requests
from ease.training.progress import Report, read_metrics

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.3
"""Interval between checks of the processes and their metrics."""


def launch(lock: FolderLock, processes: int, report: Report | None) -> None:
    """Run the job of a locked folder in several processes.

    torchrun shares the lock: if this process is killed, the training continues and the folder stays locked.

    Raises:
        TrainingInterrupted: On SIGINT or SIGTERM, after a checkpoint.
        EaseError: If a process fails.
    """
    failure, metrics = failure_file(lock.folder), lock.folder / "metrics.jsonl"
    failure.unlink(missing_ok=True)
    known, forward = read_metrics(metrics), report or (lambda step, values: None)
    with stop_requests() as stop:
        torchrun = _start(lock, processes)
        ended = asked = False
        try:
            while not ended:
                ended = torchrun.poll() is not None
                lines = read_metrics(metrics)
                # A resumed training first drops the metrics after its checkpoint.
                same = takewhile(lambda pair: pair[0] == pair[1], zip(known, lines, strict=False))
                for line in lines[len(list(same)) :]:
                    forward(
                        int(line["step"]), {name: value for name, value in line.items() if name != "step"}
                    )
                known = lines
                if stop and not asked:
                    asked = True
                    torchrun.terminate()
                    logger.warning("The processes finish their step and save a checkpoint.")
                time.sleep(POLL_SECONDS)
        finally:
            torchrun.kill()  # after a second Ctrl-C; its processes notice it after their step
            torchrun.wait()
    if not torchrun.returncode:
        return
    told = read_json(failure) or {}
    if stop and "step" in told:
        raise TrainingInterrupted(told["step"], told["steps"], lock.folder, stop.signal_number)
    # Processes that are stopped before they begin leave no message.
    raise EaseError(
        told.get("message")
        or f"A training process {'was stopped' if stop else 'failed'}; its messages are above. The same command "
        f"resumes from the last checkpoint in {lock.folder / 'checkpoints'}, if there is one."
    )


def failure_file(folder: Path) -> Path:
    """Return the file in which a process leaves its error `message`, or the step of its stop, for the launcher."""
    return folder / "failure.json"


def _start(lock: FolderLock, processes: int) -> subprocess.Popen[bytes]:
    """Start torchrun, which starts the processes; Ctrl-C reaches this process alone."""
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()  # the first process shares its GPU with this one
    # The processes import the same package as this one.
    search = [str(Path(ease.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {
        "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // processes)),
        # A step or a checkpoint may take longer than the 30 seconds that stopped processes have by default.
        "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "86400",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, search)),
        LAUNCHER_VARIABLE: "torchrun",
    }
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1"]
    command += [f"--nproc-per-node={processes}", "-m", "ease.training", str(lock.folder)]
    return subprocess.Popen(command, env=environment, pass_fds=(lock.descriptor,), start_new_session=True)
