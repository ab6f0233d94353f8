"""The training loop, its metrics, log lines and progress bar."""

from __future__ import annotations

import json
import logging
import math
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray
from torch import Tensor, nn
from torch._dynamo.exc import TorchDynamoException
from torch.nn.parallel import DistributedDataParallel

from ease.device import gpus_of
from ease.errors import EaseError
from ease.evaluation.scoring import DEVELOPMENT, RETENTION
from ease.io.atomic import write_text_atomically
from ease.io.files import report_write_errors
from ease.io.progress import ProgressBar
from ease.methods.base import TOTAL
from ease.methods.components.distributed import any_process, average, cpu_group, process_count, process_rank
from ease.training.accelerator import PROCESS_TIMEOUT
from ease.training.batches import Batch, make_ahead, make_batch, pair_indices, used_rows
from ease.training.checkpoints import BestModel, Checkpoints, Evaluate, score_development
from ease.training.entity_files import TABLE
from ease.training.model import TrainingModel
from ease.training.optimizers import Optimizers, rate_share
from ease.training.options import TrainingOptions
from ease.training.processes import TrainingInterrupted, read_metrics, stop_requests
from ease.training.teacher import FrozenEmbeddings, Guide

logger = logging.getLogger(__name__)

MetricsReport = Callable[[int, dict[str, float]], None]
"""Receives a step and its metrics, in the first process only."""

SECONDS_BETWEEN_LINES = 10.0
"""Interval between log lines if there is no terminal for a progress bar."""


class _Window(NamedTuple):
    """Steps whose losses are on their way from the device to the host."""

    step: int
    """The last one"""
    steps: int
    """Their number"""
    sums: dict[str, Tensor]
    """Of each loss term over the steps"""
    values: dict[str, float]
    """Reported beside the losses"""
    copied: torch.cuda.Event | None
    """Set when the sums have arrived; None on a CPU"""


class Progress:
    """Averages loss terms over windows of steps, and reports them with the learning rate and the throughput.

    On a GPU, a window is reported by the first `add` after it: its sums are copied meanwhile, and the GPU never waits.
    """

    def __init__(self, folder: Path, steps: int, options: TrainingOptions, report: MetricsReport | None) -> None:
        """Prepare for a training run of `steps` steps; metrics are written to the folder's metrics.jsonl."""
        self._file = folder / "metrics.jsonl"
        self._name = folder.name
        self._steps = steps
        self._options = options
        self._report = report
        self._sums: dict[str, Tensor] = {}
        self._steps_in_window = 0
        self._complete_window: _Window | None = None
        self._window_seconds = self.seconds = 0.0
        self._since = self._shown = time.perf_counter()
        self._bar: ProgressBar | None = None

    def start(self, step: int, state: dict[str, Any] | None) -> None:
        """Start the clock and the bar after a step; keep the lines of the metrics' file up to a checkpoint's."""
        if state is not None:
            self._sums = {name: torch.tensor(value) for name, value in state["sums"].items()}
            self._steps_in_window = state["window"]
            self._window_seconds = state["window_seconds"]
            self.seconds = state["seconds"]
        if process_rank():
            return
        lines: list[dict[str, float]] = []
        if state is not None:
            # Steps after the checkpoint are trained, and reported, again.
            lines = [line for line in read_metrics(self._file) if line["step"] <= step]
        write_text_atomically(self._file, "".join(json.dumps(line) + "\n" for line in lines))
        self._bar = ProgressBar(total=self._steps, initial=step, desc=self._name, unit="step", mininterval=0.2)
        self._bar.open()
        self._since = self._shown = time.perf_counter()

    def close(self) -> None:
        """Close the progress bar."""
        if self._bar is not None:
            self._bar.close()

    def add(self, step: int, terms: dict[str, Tensor], values: dict[str, float]) -> None:
        """Add a step, and report if it ends a window."""
        self._report_window()
        for name, term in terms.items():
            self._sums[name] = self._sums.get(name, 0) + term.detach()
        self._steps_in_window += 1
        now = time.perf_counter()
        if self._bar is not None:
            self._bar.update()
        if not process_rank() and not sys.stderr.isatty() and now - self._shown >= SECONDS_BETWEEN_LINES:
            loss = float(self._sums[TOTAL]) / self._steps_in_window
            logger.info("%s: step %d of %d, loss %.4f", self._name, step, self._steps, loss)
            self._shown = now
        if step % self._options.report_every and step != self._steps:
            return
        sums = {name: average(value.clone()) for name, value in sorted(self._sums.items())}
        on_gpu = self._sums[TOTAL].is_cuda
        copied = None
        if on_gpu:
            sums = {name: value.to("cpu", non_blocking=True) for name, value in sums.items()}
            copied = torch.cuda.current_stream().record_event()
        self._complete_window = _Window(step, self._steps_in_window, sums, values, copied)
        self._sums = {}
        self._steps_in_window = 0
        if not on_gpu or step == self._steps:
            self._report_window()

    def _report_window(self) -> None:
        """Report the last window, if it has not been reported."""
        window = self._complete_window
        if window is None:
            return
        self._complete_window = None
        if window.copied is not None:
            window.copied.synchronize()
        self._count_seconds()
        means = {name: float(value) / window.steps for name, value in window.sums.items()}
        rate = 0.0
        if self._window_seconds:
            rate = window.steps * self._options.batch_size / self._window_seconds
        self._window_seconds = 0.0
        if not math.isfinite(means[TOTAL]):
            raise EaseError(
                f"The loss is {means[TOTAL]} around step {window.step}: the training run has diverged; lower "
                "`learning_rate`, or raise the method's temperature."
            )
        if self._bar is not None:
            self._bar.show({"loss": f"{means[TOTAL]:.4f}", "pairs/s": f"{rate:.0f}"})
        self.publish(window.step, {**means, **window.values, "pairs_per_second": rate})
        if window.copied is None:  # on a CPU, reporting pauses training, so its time is not counted
            self.resume()

    def state(self) -> dict[str, Any]:
        """Pause, and return the state for a checkpoint: the sums of an unfinished window, over all processes."""
        self.pause()
        sums = {name: float(average(value.clone())) for name, value in sorted(self._sums.items())}
        return {
            "sums": sums,
            "window": self._steps_in_window,
            "window_seconds": self._window_seconds,
            "seconds": self.seconds,
        }

    def pause(self) -> None:
        """Stop the clock before an evaluation or a checkpoint, after the GPU has finished the steps so far."""
        self._report_window()
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        self._count_seconds()

    def _count_seconds(self) -> None:
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


def train_model(
    model: TrainingModel,
    pairs: NDArray[np.void],
    options: TrainingOptions,
    accelerator: Accelerator,
    folder: Path,
    fingerprint: str,
    *,
    evaluate: Evaluate | None = None,
    report: MetricsReport | None = None,
    teacher: FrozenEmbeddings | None = None,
    guide: Guide | None = None,
) -> tuple[BestModel, Progress]:
    """Train a model in place on prepared pairs, resuming from this training run's checkpoint if there is one.

    Args:
        model: The encoder, the method and how they are executed.
        pairs: Prepared pairs.
        options: The loop's parameters.
        accelerator: Of the model's execution.
        folder: For checkpoints, the best model and the metrics.
        fingerprint: Identifies the training run's checkpoints.
        evaluate: Scores the encoder, to select the best model. Default: the last model is kept.
        report: Receives metrics in the first process.
        teacher: The teacher's embeddings; row i belongs to pair i.
        guide: The guide's embeddings; row i belongs to pair i.

    Returns:
        The best model, and the progress with the training run's duration.

    Raises:
        TrainingInterrupted: On SIGINT or SIGTERM, after a checkpoint.
        EaseError: If there are too few pairs or the loss diverges.
    """
    steps = step_count(len(pairs), options)
    device = accelerator.device
    group = cpu_group(PROCESS_TIMEOUT)
    # The optimizer averages the entity table's gradients, so DDP must not.
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, [TABLE])
    trained: nn.Module = accelerator.prepare(model.train())
    batches_after = partial(_batches, pairs, teacher, guide, model, options, device)
    optimizers = Optimizers(model, options)
    # The device is part of the name because random states cannot move between devices.
    checkpoints = Checkpoints(folder / "checkpoints", f"{fingerprint}-{device.type}", options)
    best = BestModel(folder, options.max_below_start, options.min_kept)
    progress = Progress(folder, steps, options, report)
    # Processes draw different dropout masks.
    torch.manual_seed(options.seed + process_rank())
    if model.execution.compiled:
        _compile(trained, batches_after(0), model, accelerator)
    start = 0
    state = checkpoints.resume(model, optimizers)
    if state is not None:
        start = int(state["step"])
        best.restore(state)
    progress.start(start, state)
    if start == 0 and evaluate is not None:
        _evaluate_and_keep(0, model, best, progress, evaluate)
    hopeless = any_process(best.hopeless, group)
    with stop_requests() as stop, closing(optimizers), closing(progress), closing(batches_after(start)) as batches:
        for step, sub_batches in zip(range(start + 1, steps + 1), batches, strict=False):
            if hopeless:
                logger.info(
                    "Stopped: %d evaluations in a row scored below the starting encoder", options.max_below_start
                )
                break
            rate = optimizers.set_rates(rate_share(step, steps, options.warmup, options.schedule))
            terms = add_gradients(trained, sub_batches, accelerator)
            optimizers.step()
            progress.add(step, terms, {"learning_rate": rate})
            is_last = step == steps
            if is_last or (evaluate is not None and step % options.evaluate_every == 0):
                # In every process: the first one may save its table, and the others' must stay equal to it.
                optimizers.complete_tables()
                _evaluate_and_keep(step, model, best, progress, evaluate)
                hopeless = any_process(best.hopeless, group)
            # Checked after every step, since steps may be slow; all processes stop after the same step.
            stopping = any_process(bool(stop), group)
            saving = stopping
            if not stopping and not is_last:
                # The first process's clock decides. All processes get here or none: `any_process` waits for all.
                saving = any_process(not process_rank() and checkpoints.due, group)
            if saving:
                checkpoints.save(step, model, optimizers, {**progress.state(), **best.state()})
                best.prune()
                progress.resume()
            if stopping:
                raise TrainingInterrupted(step, steps, folder)
    return best, progress


def _compile(
    trained: nn.Module, batches: Generator[list[Batch], None, None], model: TrainingModel, accelerator: Accelerator
) -> None:
    """Compute one step on the first batch and discard it, so that a resumed run is compiled for the same batch.

    The order of sums depends on the size of the batch for which torch compiles.
    """
    with closing(batches), torch.random.fork_rng(gpus_of(accelerator.device)):
        add_gradients(trained, next(batches), accelerator)
    model.zero_grad(set_to_none=True)
    if model.method.table is not None:
        model.method.table.forget_gradient()


def step_count(pairs: int, options: TrainingOptions) -> int:
    """Return the number of steps: `max_steps`, or those of `epochs` without incomplete batches."""
    if pairs < options.batch_size:
        raise EaseError(
            f"{pairs} training pairs do not fill a batch of {options.batch_size}: lower `batch_size`, or "
            "loosen the filters that made the pairs."
        )
    return options.max_steps or options.epochs * (pairs // options.batch_size)


def _batches(
    pairs: NDArray[np.void],
    teacher: FrozenEmbeddings | None,
    guide: Guide | None,
    model: TrainingModel,
    options: TrainingOptions,
    device: torch.device,
    start: int,
) -> Generator[list[Batch], None, None]:
    """Yield this process's share of the sub-batches of each step after `start`."""
    execution = model.execution
    padding = getattr(model.encoder.tokenizer, "pad_token_id", None) or 0  # any id: padding is masked
    share = slice(process_rank(), None, process_count())  # every n-th row of a sub-batch

    def make(indices: NDArray[np.int64]) -> Batch:
        batch = make_batch(
            pairs[indices[share]],
            padding,
            execution.chunks,
            model.reads.views,
            model.reads.token_columns,
            with_entities=model.reads.entities,
            packed=execution.packed,
            masked=execution.compiled,  # a batch without a mask would need a compilation of its own
        )
        if batch.entities is not None and model.method.table is not None:
            # Rows of all processes, since their gradients are summed in one table
            rows_read = used_rows(pairs[indices], model.reads.hard_negatives)
            batch = batch._replace(entities=batch.entities._replace(distinct_rows=rows_read))
        if teacher is not None:
            batch = batch._replace(teacher=torch.from_numpy(teacher[indices[share]]))
        if guide is not None and batch.entities is not None:
            batch = batch._replace(entities=guide.add_to(batch.entities, indices[share]))
        return batch

    order = pair_indices(pairs, options.batch_size, options.seed, start, options.batches)
    return make_ahead(([make(part) for part in np.split(indices, execution.sub_batches)] for indices in order), device)


def _evaluate_and_keep(
    step: int, model: TrainingModel, best: BestModel, progress: Progress, evaluate: Evaluate | None
) -> None:
    """Score the encoder in the first process, and save the model if it is the best."""
    progress.pause()
    if not process_rank():
        scores: dict[str, float] = {}
        if evaluate is not None:
            scores = best.add_retention(step, score_development(model, evaluate))
            progress.publish(step, scores)
        best.consider(step, model, scores.get(DEVELOPMENT), scores.get(RETENTION))
    progress.resume()


def add_gradients(model: nn.Module, sub_batches: Sequence[Batch], accelerator: Accelerator) -> dict[str, Tensor]:
    """Add the mean gradient of a batch's sub-batches to the parameters; return their mean loss terms.

    Only one sub-batch's activations are in memory at a time. Several processes exchange their gradients once, after
    the last sub-batch.
    """
    sums: dict[str, Tensor] = {}
    for number, batch in enumerate(sub_batches, start=1):
        synchronisation = accelerator.no_sync(model)
        if number == len(sub_batches):
            synchronisation = nullcontext()
        try:
            with synchronisation:
                terms = model(batch)
                accelerator.backward(terms[TOTAL] / len(sub_batches))
        except TorchDynamoException as error:
            raise EaseError(f"torch cannot compile the encoder's layers: set `compiled: false`. {error}") from error
        for name, term in terms.items():
            sums[name] = sums.get(name, 0) + term.detach()
    return {name: value / len(sub_batches) for name, value in sums.items()}
