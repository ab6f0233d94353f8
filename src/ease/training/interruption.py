"""Graceful stop: after a signal, the loop finishes its step and saves a checkpoint."""

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
"""Environment variable of processes that the launcher started, which holds the folder's lock"""


class TrainingInterrupted(EaseError):
    """Raised when a signal stopped the training, after saving a checkpoint."""

    def __init__(self, step: int, steps: int, folder: Path, signal_number: int) -> None:
        """Name the step and how to resume."""
        super().__init__(
            f"Training stopped after step {step} of {steps}: the same command resumes it "
            f"(checkpoint in {folder / 'checkpoints'})."
        )
        self.step, self.steps = step, steps
        self.signal_number = signal_number


class StopRequest:
    """A request to stop, by a signal or the death of the launcher."""

    def __init__(self) -> None:
        """Start without a request."""
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
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, request._receive) for number in numbers]
    try:
        yield request
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
