"""Stopping a training: a signal asks for it, the loop ends its step and leaves a checkpoint."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from ease.errors import EaseError

LAUNCHER_VARIABLE = "EASE_LAUNCHER"
"""Environment variable by which a process knows the id of the one that started it for training."""


class TrainingInterrupted(EaseError):
    """The training was stopped by a signal after it had left a checkpoint."""

    def __init__(self, step: int, steps: int, folder: Path, signal_number: int) -> None:
        """Say where it stopped and how to go on."""
        super().__init__(
            f"Training stopped after step {step} of {steps}: the same command goes on from there "
            f"(checkpoint in {folder / 'checkpoints'})."
        )
        self.step, self.steps = step, steps
        self.signal_number = signal_number


class StopRequest:
    """Whether, and by which signal, the training has been asked to stop."""

    def __init__(self) -> None:
        """Start without a request."""
        self.signal_number = 0
        self._launcher = int(os.environ.get(LAUNCHER_VARIABLE, 0))

    def __bool__(self) -> bool:
        """Tell whether a signal has come, or the process that started this one for training is gone."""
        orphaned = self._launcher not in (0, os.getpid(), os.getppid())
        return bool(self.signal_number) or orphaned

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.signal_number == signal.SIGINT == number:
            raise KeyboardInterrupt  # asked twice by hand: at once, without a new checkpoint
        # A launcher may send SIGTERM after the terminal's SIGINT: still one request.
        self.signal_number = self.signal_number or number


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Turn SIGINT (Ctrl-C) and SIGTERM into a request; outside the main thread, do nothing."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, request._receive) for number in numbers]
    try:
        yield request
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
