"""Processes of a training run on this machine: a graceful stop, and the launcher (torchrun), which forwards metrics."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from types import FrameType

import ease
from ease.errors import EaseError
from ease.io.files import read_json
from ease.io.locks import FolderLock

logger = logging.getLogger(__name__)

LAUNCHER_VARIABLE = "EASE_LAUNCHER"
"""Environment variable of processes that the launcher started, which holds the folder's lock"""
FAILURE = "failure.json"
"""In a training run's folder: a process's error `message`, or the step of its stop, for the launcher"""
POLL_SECONDS = 0.3
"""Interval between checks of the processes and their metrics."""


class TrainingInterrupted(EaseError):
    """Raised when a signal stopped the training run, after saving a checkpoint."""

    def __init__(self, step: int, steps: int, folder: Path) -> None:
        super().__init__(
            f"Training stopped after step {step} of {steps}: the same command resumes it "
            f"(checkpoint in {folder / 'checkpoints'})."
        )
        self.step = step
        self.steps = steps


class StopRequest:
    """A request to stop, by a signal or the death of the launcher."""

    def __init__(self) -> None:
        self.signal_number = 0
        self._parent = os.getppid()

    def __bool__(self) -> bool:
        """Return whether a signal was received or the launcher is gone."""
        orphaned = LAUNCHER_VARIABLE in os.environ and os.getppid() != self._parent
        return bool(self.signal_number) or orphaned

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.signal_number == signal.SIGINT == number:
            raise KeyboardInterrupt  # the second Ctrl-C stops without a checkpoint
        # The launcher may send SIGTERM after the terminal's SIGINT: that is one request.
        self.signal_number = self.signal_number or number


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Turn SIGINT (Ctrl-C) and SIGTERM into a request; without effect outside the main thread."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.signal(number, request._receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def read_metrics(path: Path) -> list[dict[str, float]]:
    """Read the metrics, ignoring a truncated last line."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def step_and_values(line: Mapping[str, float]) -> tuple[int, dict[str, float]]:
    """Return the step of a line of metrics, and its other values by name."""
    return int(line["step"]), {name: value for name, value in line.items() if name != "step"}


def launch(lock: FolderLock, processes: int, report: Callable[[int, dict[str, float]], None] | None) -> None:
    """Run the job of a locked folder in several processes.

    torchrun shares the lock: if this process is killed, the training run continues and the folder stays locked.

    Raises:
        TrainingInterrupted: On SIGINT or SIGTERM, after a checkpoint.
        EaseError: If a process fails.
    """
    import torch

    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()  # the first process shares its GPU with this one
    failure = lock.folder / FAILURE
    metrics = lock.folder / "metrics.jsonl"
    failure.unlink(missing_ok=True)
    earlier = read_metrics(metrics)
    # The processes import the same package as this one, and the modules of other packages' methods.
    search = [str(Path(ease.__file__).parents[1]), *sys.path]
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
    with stop_requests() as stop:
        # In a session of its own, so that Ctrl-C reaches this process alone.
        torchrun = subprocess.Popen(command, env=environment, pass_fds=(lock.descriptor,), start_new_session=True)
        try:
            for line in _new_metrics(torchrun, stop, metrics, earlier):
                if report is not None:
                    report(*step_and_values(line))
        finally:
            torchrun.kill()  # after a second Ctrl-C; its processes notice it after their step
            torchrun.wait()
    if not torchrun.returncode:
        return
    reason = read_json(failure) or {}
    if stop and "step" in reason:
        raise TrainingInterrupted(reason["step"], reason["steps"], lock.folder)
    if "message" in reason:
        raise EaseError(reason["message"])
    # Processes that are stopped before they begin leave no message.
    end = "was stopped" if stop else "failed"
    raise EaseError(
        f"A training process {end}; its messages are above. The same command resumes from the last checkpoint in "
        f"{lock.folder / 'checkpoints'}, if there is one."
    )


def _new_metrics(
    torchrun: subprocess.Popen[bytes], stop: StopRequest, metrics: Path, earlier: list[dict[str, float]]
) -> Iterator[dict[str, float]]:
    """Yield new metrics until torchrun ends, and ask it to end if a stop is requested."""
    ended = asked = False
    while not ended:
        ended = torchrun.poll() is not None
        lines = read_metrics(metrics)
        # A resumed training run first drops the metrics after its checkpoint.
        unchanged = takewhile(lambda pair: pair[0] == pair[1], zip(earlier, lines, strict=False))
        yield from lines[len(list(unchanged)) :]
        earlier = lines
        if stop and not asked:
            asked = True
            torchrun.terminate()
            logger.warning("The processes finish their step and save a checkpoint.")
        time.sleep(POLL_SECONDS)
