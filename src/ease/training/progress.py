"""Progress bar, metrics and log lines of a running training."""

from __future__ import annotations

import json
import logging
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from ease.errors import EaseError
from ease.io.atomic import write_text_atomically
from ease.io.files import report_write_errors
from ease.methods.base import TOTAL
from ease.methods.components.distributed import average, process_rank
from ease.training.options import TrainingOptions

logger = logging.getLogger(__name__)

Report = Callable[[int, dict[str, float]], None]
"""Receives a step and its metrics, in the first process only."""


SECONDS_BETWEEN_LINES = 10.0
"""Interval between log lines if there is no terminal for a progress bar."""


class Progress:
    """Averages loss terms over windows of steps, and reports them with the learning rate and the throughput."""

    def __init__(self, folder: Path, steps: int, options: TrainingOptions, report: Report | None) -> None:
        """Prepare for a training of `steps` steps; metrics are written to the folder's metrics.jsonl."""
        self._file = folder / "metrics.jsonl"
        self._steps = steps
        self._batch_size = options.batch_size
        self._report_every = options.report_every
        self._report = report
        self._sums: dict[str, Tensor] = {}
        self._window = 0
        self._window_seconds = 0.0
        self.seconds = 0.0
        self._since = self._shown = time.perf_counter()
        self._line = 0
        self._name = folder.name
        self._bar: tqdm[Any] | None = None

    def start(self, step: int, state: dict[str, Any] | None) -> None:
        """Begin after a step, with an empty file or with a checkpoint's state."""
        if state is not None:
            self._sums = {name: torch.tensor(value) for name, value in state["sums"].items()}
            self._window, self._window_seconds = state["window"], state["window_seconds"]
            self.seconds = state["seconds"]
        if process_rank():
            return
        kept = [line for line in read_metrics(self._file) if line["step"] <= step] if state else []
        write_text_atomically(self._file, "".join(json.dumps(line) + "\n" for line in kept))
        if sys.stderr.isatty():
            self._bar = tqdm(
                total=self._steps, initial=step, desc=self._name, unit="step", mininterval=0.2, leave=False
            )
        self._since = self._shown = time.perf_counter()
        self._line = step

    def close(self) -> None:
        """Close the progress bar."""
        if self._bar is not None:
            self._bar.close()

    def add(self, step: int, terms: dict[str, Tensor], values: dict[str, float]) -> None:
        """Add a step, and report if it ends a window."""
        for name, term in terms.items():
            value = term.detach()
            self._sums[name] = self._sums[name].to(value.device) + value if name in self._sums else value
        self._window += 1
        if self._bar is not None:
            self._bar.update()
        else:
            self._log_line(step)
        if step % self._report_every == 0 or step == self._steps:
            self._report_window(step, values)

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint: the sums of an unfinished window, over all processes."""
        self.pause()
        sums = {name: float(average(value.clone())) for name, value in sorted(self._sums.items())}
        return {
            "sums": sums,
            "window": self._window,
            "window_seconds": self._window_seconds,
            "seconds": self.seconds,
        }

    def pause(self) -> None:
        """Stop the clock before an evaluation or a checkpoint, when a GPU has done the steps before it."""
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        now = time.perf_counter()
        self._window_seconds += now - self._since
        self.seconds += now - self._since
        self._since = now

    def resume(self) -> None:
        """Restart the clock."""
        self._since = time.perf_counter()

    def publish(self, step: int, values: dict[str, float]) -> None:
        """Report metrics and append them to the file."""
        if process_rank():
            return
        with report_write_errors(self._file), self._file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"step": step, **values}) + "\n")
        if self._report is not None:
            self._report(step, values)

    def _report_window(self, step: int, values: dict[str, float]) -> None:
        means = {
            name: float(average(value.clone())) / self._window for name, value in sorted(self._sums.items())
        }
        self.pause()
        pairs = self._window * self._batch_size
        rate = pairs / self._window_seconds if self._window_seconds else 0.0
        self._sums, self._window, self._window_seconds = {}, 0, 0.0
        if not math.isfinite(means[TOTAL]):
            raise EaseError(
                f"The loss is {means[TOTAL]} around step {step}: the training has diverged; lower "
                "`learning_rate` or raise the temperature."
            )
        if self._bar is not None:
            self._bar.set_postfix({"loss": f"{means[TOTAL]:.4f}", "pairs/s": f"{rate:.0f}"}, refresh=False)
        self.publish(step, {**means, **values, "pairs_per_second": rate})
        self.resume()

    def _log_line(self, step: int) -> None:
        """Log the step, this process's loss and the throughput, if there was no line for some seconds."""
        now = time.perf_counter()
        elapsed = now - self._shown
        if process_rank() or elapsed < SECONDS_BETWEEN_LINES:
            return
        loss, rate = float(self._sums[TOTAL]) / self._window, (step - self._line) * self._batch_size / elapsed
        logger.info("%s: step %d of %d, loss %.4f, pairs/s %.0f", self._name, step, self._steps, loss, rate)
        self._shown, self._line = now, step


def read_metrics(path: Path) -> list[dict[str, float]]:
    """Read the metrics, ignoring a truncated last line."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]
