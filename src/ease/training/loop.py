"""The training loop."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray

from ease.errors import EaseError
from ease.methods import TOTAL
from ease.methods.components.distributed import any_process, cpu_group, process_count, process_rank
from ease.training.accelerator import PATIENCE
from ease.training.batches import Batch, make_batch, move_batch, pair_indices
from ease.training.checkpoints import Checkpoints
from ease.training.interruption import TrainingInterrupted, stop_requests
from ease.training.model import TrainingModel
from ease.training.optimizers import Optimizers, rate_share
from ease.training.options import TrainingOptions
from ease.training.progress import Progress, Report
from ease.training.selection import DEVELOPMENT_SCORE, BestModel, Evaluate, score_encoder

logger = logging.getLogger(__name__)


def train(
    model: TrainingModel,
    pairs: NDArray[np.void],
    options: TrainingOptions,
    accelerator: Accelerator,
    folder: Path,
    fingerprint: str,
    *,
    evaluate: Evaluate | None = None,
    report: Report | None = None,
) -> tuple[BestModel, Progress]:
    """Train a model on prepared pairs, from the folder's checkpoint if it has one of this training.

    Args:
        model: Encoder, head and method; trained in place.
        pairs: Prepared pairs, as `open_pairs` maps them.
        options: The loop's parameters.
        accelerator: Where and in which precision.
        folder: Holds checkpoints, the best model and the reported values.
        fingerprint: Of data and options: a checkpoint with another one is not resumed.
        evaluate: Scores the encoder; without it the last model is kept.
        report: Takes the reported values, in the first process alone.

    Raises:
        TrainingInterrupted: On SIGINT or SIGTERM, after a checkpoint.
        EaseError: If there are too few pairs or the loss diverges.
    """
    steps = step_count(len(pairs), options)
    trained = accelerator.prepare(model.train())
    optimizers = Optimizers(model, options)
    checkpoints, best = Checkpoints(folder / "checkpoints", fingerprint), BestModel(folder)
    progress = Progress(folder, steps, options, report)
    torch.manual_seed(options.seed + process_rank())
    start = _resume(checkpoints, model, optimizers, best, progress)
    if start == 0 and evaluate is not None:
        _select(0, model, best, progress, evaluate)
    batches = _batches(pairs, model, options, start, accelerator.device)
    group = cpu_group(PATIENCE)
    with stop_requests() as stop, progress:
        for step, batch in zip(range(start + 1, steps + 1), batches, strict=False):
            rate = optimizers.set_rates(rate_share(step, steps, options.warmup))
            terms = trained(batch)
            accelerator.backward(terms[TOTAL])
            optimizers.step()
            progress.add(step, terms, {"learning_rate": rate})
            last = step == steps
            if last or (evaluate is not None and step % options.evaluate_every == 0):
                _select(step, model, best, progress, evaluate)
            # After every step, which may be a slow one: all processes stop after the same step.
            stopping = any_process(bool(stop), group)
            if stopping or (not last and step % options.checkpoint_every == 0):
                checkpoints.save(step, model, optimizers, {**progress.state(), **best.state()})
                best.prune()
                progress.resume()
            if stopping:
                raise TrainingInterrupted(step, steps, folder, stop.signal_number)
    return best, progress


def step_count(pairs: int, options: TrainingOptions) -> int:
    """Number of steps of a training, which `max_steps` or else `epochs` says.

    Raises:
        EaseError: If the pairs fill no batch.
    """
    if pairs < options.batch_size:
        raise EaseError(
            f"{pairs} training pairs do not fill a batch of {options.batch_size}: lower `batch_size`, or "
            "loosen the filters that made the pairs."
        )
    return options.max_steps or options.epochs * (pairs // options.batch_size)


def _resume(
    checkpoints: Checkpoints,
    model: TrainingModel,
    optimizers: Optimizers,
    best: BestModel,
    progress: Progress,
) -> int:
    """Go on from the last checkpoint of this training, if there is one; returns its step."""
    state = checkpoints.latest()
    step = 0 if state is None else int(state["step"])
    if state is not None:
        checkpoints.restore(state, model, optimizers)
        best.restore(state)
        logger.info("Going on after step %d", step)
    progress.start(step, state)
    return step


def _batches(
    pairs: NDArray[np.void], model: TrainingModel, options: TrainingOptions, start: int, device: torch.device
) -> Iterator[Batch]:
    """Yield this process's share of every batch, after the steps already done."""
    padding = model.encoder.tokenizer.pad_token_id or 0  # masked, whatever it is
    share = slice(process_rank(), None, process_count())
    chunks = _chunks(options, device)
    for indices in pair_indices(len(pairs), options.batch_size, options.seed, start):
        batch = make_batch(
            pairs[indices[share]],
            padding,
            chunks,
            model.method.views,
            model.method.token_columns,
            with_entities=model.method.table is not None,
            packed=options.packed,
        )
        yield move_batch(batch, device)


def _chunks(options: TrainingOptions, device: torch.device) -> int:
    """Number of parts, of similar length, that this process's share of a batch is encoded in."""
    # On a CPU every padded token costs; a GPU would rather start fewer and larger operations.
    chunks = options.length_chunks or (4 if device.type == "cpu" and not options.packed else 1)
    if options.mini_batch_size is None:
        return chunks
    return max(chunks, math.ceil(options.batch_size / process_count() / options.mini_batch_size))


def _select(
    step: int, model: TrainingModel, best: BestModel, progress: Progress, evaluate: Evaluate | None
) -> None:
    """Score the encoder in the first process, report the scores and keep the model if it is the best.

    The start, at step 0, is scored for comparison and never kept.
    """
    progress.pause()
    if not process_rank():
        scores = {} if evaluate is None else score_encoder(model, evaluate)
        if scores:
            progress.publish(step, scores)
        if step:
            best.consider(step, model, scores.get(DEVELOPMENT_SCORE))
    if process_count() > 1:
        torch.distributed.barrier()
    progress.resume()
