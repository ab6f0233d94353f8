"""Launcher of a training in several processes on this machine; it forwards their metrics.

torchrun's agent is not used, because the processes must share the folder's lock, and because they need time to finish a
slow step when they are asked to stop.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path

import torch

import ease
from ease.errors import EaseError
from ease.io.files import read_json
from ease.io.locks import FolderLock
from ease.training.interruption import LAUNCHER_VARIABLE, StopRequest, TrainingInterrupted, stop_requests
from ease.training.progress import Report, read_metrics

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.3
"""Interval between checks of the processes and their metrics."""

GRACE_SECONDS = 120.0
"""Time for the other processes to end after one has failed; they may be waiting for the failed one in a collective
call."""

WAITING = "The processes finish their step and save a checkpoint; a second Ctrl-C stops them without one."

INTERRUPTED = 75
"""Exit status of a process that was stopped after saving a checkpoint (EX_TEMPFAIL)."""


def launch(lock: FolderLock, processes: int, report: Report | None) -> None:
    """Run the job of a locked folder in several processes.

    The processes share the lock: if this process is killed, the folder stays locked until the last process has ended.

    Raises:
        TrainingInterrupted: On SIGINT or SIGTERM, after a checkpoint.
        EaseError: If a process fails.
    """
    folder = lock.folder
    failure_file(folder).unlink(missing_ok=True)
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()  # the first process shares its GPU with this one
    with stop_requests() as stop, _started(lock, processes) as workers:
        metrics = _Metrics(folder / "metrics.jsonl", report)
        asked, deadline = False, float("inf")
        while any(worker.poll() is None for worker in workers):
            time.sleep(POLL_SECONDS)
            metrics.pass_on()
            failed = any(worker.poll() not in (None, 0, INTERRUPTED) for worker in workers)
            if (stop or failed) and not asked:
                asked = True
                _signal(workers, signal.SIGTERM)
                if not failed:
                    logger.warning(WAITING)
            # Only a failure limits the time: a step, an evaluation or a checkpoint may be slow.
            if failed and deadline == float("inf"):
                deadline = time.monotonic() + GRACE_SECONDS
            if time.monotonic() > deadline:
                _signal(workers, signal.SIGKILL)
        metrics.pass_on()
    _raise_for(workers, stop, folder)


def failure_file(folder: Path) -> Path:
    """Return the file in which a process leaves its error `message`, or the step of its stop, for the launcher."""
    return folder / "failure.json"


class _Metrics:
    """Forwards each metric that the first process writes to its file once."""

    def __init__(self, path: Path, report: Report | None) -> None:
        self._path = path
        self._report = report or (lambda step, values: None)
        self._known = read_metrics(path)

    def pass_on(self) -> None:
        """Report new metrics; a resumed training first drops those after its checkpoint."""
        lines = read_metrics(self._path)
        same = [first == second for first, second in zip(self._known, lines, strict=False)]
        self._known = lines
        for line in lines[len([*takewhile(bool, same)]) :]:
            self._report(int(line["step"]), {name: value for name, value in line.items() if name != "step"})


@contextmanager
def _started(lock: FolderLock, processes: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start the processes; at the end of the block, kill those that still run."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    threads = max(1, (os.cpu_count() or 1) // processes)
    # The processes import the same package as this one.
    search = [str(Path(ease.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {
        "OMP_NUM_THREADS": str(threads),
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, search)),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(processes),
        "LOCAL_WORLD_SIZE": str(processes),
        LAUNCHER_VARIABLE: str(os.getpid()),
    }
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "ease.training", str(lock.folder)],
            env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            pass_fds=(lock.descriptor,),
            start_new_session=True,  # Ctrl-C reaches the launcher only, which forwards it
        )
        for rank in range(processes)
    ]
    try:
        yield workers
    finally:
        _signal(workers, signal.SIGKILL)
        for worker in workers:
            worker.wait()


def _signal(workers: list[subprocess.Popen[bytes]], number: signal.Signals) -> None:
    for worker in workers:
        if worker.poll() is None:
            worker.send_signal(number)


def _raise_for(workers: list[subprocess.Popen[bytes]], stop: StopRequest, folder: Path) -> None:
    """Raise if a process failed or was stopped."""
    statuses = [worker.returncode for worker in workers]
    if not any(statuses):
        return
    failure = read_json(failure_file(folder)) or {}
    if INTERRUPTED in statuses and "step" in failure:
        raise TrainingInterrupted(failure["step"], failure["steps"], folder, stop.signal_number)
    # Processes that are stopped before they begin leave no message.
    ended = "was stopped" if stop else f"ended with status {next(filter(None, statuses))}"
    raise EaseError(
        failure.get("message")
        or f"A training process {ended}; its messages are above. "
        f"The same command resumes from the last checkpoint in {folder / 'checkpoints'}, if there is one."
    )
