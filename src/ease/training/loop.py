"""The training loop."""

from __future__ import annotations

import logging
import math
from collections.abc import Generator, Sequence
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ease.errors import EaseError
from ease.io.names import DEVELOPMENT
from ease.methods.base import TOTAL
from ease.methods.components.distributed import any_process, cpu_group, process_count, process_rank
from ease.training.accelerator import PATIENCE, report_compilation_errors
from ease.training.batches import Batch, make_ahead, make_batch, used_rows
from ease.training.checkpoints import Checkpoints
from ease.training.entity_files import TABLE
from ease.training.interruption import TrainingInterrupted, stop_requests
from ease.training.model import TrainingModel
from ease.training.optimizers import Optimizers, rate_share
from ease.training.options import TrainingOptions
from ease.training.progress import Progress, Report
from ease.training.sampling import pair_indices
from ease.training.selection import BestModel, Evaluate, score_encoder
from ease.training.teacher import Embeddings, Guide

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
    teacher: Embeddings | None = None,
    guide: Guide | None = None,
) -> tuple[BestModel, Progress]:
    """Train a model in place on prepared pairs, resuming from this training's checkpoint if there is one.

    Args:
        model: Encoder, head and method.
        pairs: Prepared pairs, as `open_pairs` maps them.
        options: The loop's parameters.
        accelerator: Device, precision and processes.
        folder: The work folder for checkpoints, the best model and metrics.
        fingerprint: Identifies this training's checkpoints.
        evaluate: Scores the encoder to select the best model. None: the last model is kept.
        report: Called with metrics in the first process.
        teacher: The teacher's embeddings of the prepared pairs, if the model has one.
        guide: The guide's embeddings, if the method is guided.

    Raises:
        TrainingInterrupted: On SIGINT or SIGTERM, after a checkpoint.
        EaseError: If there are too few pairs or the loss diverges.
    """
    steps = step_count(len(pairs), options)
    # All processes read the same entity table, whose gradients the optimizer averages; it may be on another device.
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model.train(), [TABLE])
    trained: nn.Module = accelerator.prepare(model)
    batches_after = partial(_batches, pairs, teacher, guide, model, options, accelerator.device)
    optimizers = Optimizers(model, options)
    # A checkpoint has the random state of its device.
    checkpoints = Checkpoints(folder / "checkpoints", f"{fingerprint}-{accelerator.device.type}", options)
    best = BestModel(folder, options.max_below_start)
    progress = Progress(folder, steps, options, report)
    torch.manual_seed(options.seed + process_rank())
    if options.compiled:
        _compile(trained, batches_after(0), model, accelerator)
    start, state = 0, checkpoints.latest()
    if state is not None:
        start = int(state["step"])
        checkpoints.restore(state, model, optimizers)
        best.restore(state)
        logger.info("Resuming after step %d", start)
    progress.start(start, state)
    if start == 0 and evaluate is not None:
        _select(0, model, best, progress, evaluate)
    batches = batches_after(start)
    group = cpu_group(PATIENCE)
    hopeless = any_process(best.hopeless, group)
    with stop_requests() as stop, closing(progress), closing(batches):
        for step, sub_batches in zip(range(start + 1, steps + 1), batches, strict=False):
            if hopeless:
                logger.info("Stopped: %d evaluations in a row are below the start", options.max_below_start)
                break
            rate = optimizers.set_rates(rate_share(step, steps, options.warmup, options.schedule))
            terms = add_gradients(trained, sub_batches, accelerator)
            optimizers.step()
            progress.add(step, terms, {"learning_rate": rate})
            last = step == steps
            if last or (evaluate is not None and step % options.evaluate_every == 0):
                _select(step, model, best, progress, evaluate)
                hopeless = any_process(best.hopeless, group)
            # Checked after every step, since steps may be slow; all processes stop after the same step.
            stopping = any_process(bool(stop), group)
            if stopping or (not last and any_process(not process_rank() and checkpoints.due, group)):
                best.flush()
                checkpoints.save(step, model, optimizers, {**progress.state(), **best.state()})
                best.prune()
                progress.resume()
            if stopping:
                raise TrainingInterrupted(step, steps, folder, stop.signal_number)
    return best, progress


def _compile(
    trained: nn.Module,
    batches: Generator[list[Batch], None, None],
    model: TrainingModel,
    accelerator: Accelerator,
) -> None:
    """Compile for the first batch of the training: the order of sums depends on the size of the first batch.

    A resumed training would otherwise be compiled for the batch at which it resumes, and sum in another order.
    """
    device = accelerator.device
    with closing(batches), torch.random.fork_rng([device] if device.type == "cuda" else []):
        add_gradients(trained, next(batches), accelerator)
    model.zero_grad(set_to_none=True)
    if model.method.table is not None:
        model.method.table.forget_gradient()


def step_count(pairs: int, options: TrainingOptions) -> int:
    """Return the number of steps, from `max_steps` or else `epochs`.

    Raises:
        EaseError: If there are fewer pairs than `batch_size`.
    """
    if pairs < options.batch_size:
        raise EaseError(
            f"{pairs} training pairs do not fill a batch of {options.batch_size}: lower `batch_size`, or "
            "loosen the filters that made the pairs."
        )
    return options.max_steps or options.epochs * (pairs // options.batch_size)


def _batches(
    pairs: NDArray[np.void],
    teacher: Embeddings | None,
    guide: Guide | None,
    model: TrainingModel,
    options: TrainingOptions,
    device: torch.device,
    start: int,
) -> Generator[list[Batch], None, None]:
    """Return this process's share of each batch's sub-batches, after the steps already done."""
    padding = getattr(model.encoder.tokenizer, "pad_token_id", None) or 0  # masked anyway
    share = slice(process_rank(), None, process_count())
    # Padding is expensive on a CPU; a GPU is faster with fewer and larger operations.
    chunks = options.length_chunks or (4 if device.type == "cpu" and not model.packed else 1)
    if options.mini_batch_size is not None:
        chunks = max(chunks, math.ceil(options.contrasted / process_count() / options.mini_batch_size))
    parts = options.batch_size // options.contrasted
    hard_negatives = model.method.reads_hard_negatives(model.method.options)

    def make(indices: NDArray[np.int64]) -> Batch:
        batch = make_batch(
            pairs[indices[share]],
            padding,
            chunks,
            model.method.views,
            model.method.token_columns,
            with_entities=model.method.reads_entities,
            packed=model.packed,
            masked=options.compiled,  # a batch without a mask would be compiled for by itself
        )
        if batch.entities is not None and model.method.table is not None:
            used = used_rows(pairs[indices], hard_negatives)
            batch = batch._replace(entities=batch.entities._replace(used=used))
        if teacher is not None:
            batch = batch._replace(teacher=torch.from_numpy(teacher[indices[share]]))
        if guide is not None and batch.entities is not None:
            batch = batch._replace(entities=guide.add_to(batch.entities, indices[share]))
        return batch

    order = pair_indices(pairs, options.batch_size, options.seed, start, options.batches)
    return make_ahead(([make(part) for part in np.split(indices, parts)] for indices in order), device)


def _select(
    step: int, model: TrainingModel, best: BestModel, progress: Progress, evaluate: Evaluate | None
) -> None:
    """Score the encoder in the first process, and save the model if it is the best."""
    progress.pause()
    if not process_rank():
        scores = {} if evaluate is None else score_encoder(model, evaluate)
        if scores:
            progress.publish(step, scores)
        best.consider(step, model, scores.get(DEVELOPMENT))
    if process_count() > 1:
        torch.distributed.barrier()
    progress.resume()


@report_compilation_errors()
def add_gradients(
    model: nn.Module, sub_batches: Sequence[Batch], accelerator: Accelerator
) -> dict[str, Tensor]:
    """Add the mean gradient of a batch's sub-batches to the parameters; return their mean loss terms.

    Only one sub-batch's activations are in memory at a time. Several processes exchange their gradients once, after
    the last sub-batch.

    Raises:
        EaseError: If the layers are to be compiled, and torch cannot compile them.
    """
    sums: dict[str, Tensor] = {}
    for position, batch in enumerate(sub_batches, start=1):
        last = position == len(sub_batches)
        with nullcontext() if last else accelerator.no_sync(model):
            terms = model(batch)
            accelerator.backward(terms[TOTAL] / len(sub_batches))
        for name, term in terms.items():
            sums[name] = sums[name] + term.detach() if name in sums else term.detach()
    return {name: value / len(sub_batches) for name, value in sums.items()}
