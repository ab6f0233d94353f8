"""The training loop."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.state import AcceleratorState, GradientState
from numpy.typing import NDArray

from ease.distributed import average, process_count, process_rank
from ease.errors import EaseError
from ease.methods import TOTAL
from ease.training.batches import make_batch, move_batch, pair_indices
from ease.training.checkpoints import Checkpoints
from ease.training.interruption import StopRequest, TrainingInterrupted, stop_requests
from ease.training.model import TrainingModel
from ease.training.optimizers import Optimizers, rate_share
from ease.training.options import TrainingOptions
from ease.training.progress import Progress, Report
from ease.training.selection import DEVELOPMENT_SCORE, BestModel, Evaluate, score_encoder

logger = logging.getLogger(__name__)

STOP_CHECKS = 10
"""Steps between agreements on stopping where several processes train: each costs a synchronisation."""


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
    encoder_device = accelerator.device
    padding = int(model.encoder.tokenizer.pad_token_id)
    trained = accelerator.prepare(model.train())
    optimizers = Optimizers(model, options)
    checkpoints, best = Checkpoints(folder / "checkpoints", fingerprint), BestModel(folder)
    torch.manual_seed(options.seed + process_rank())
    state = checkpoints.latest()
    if state is not None:
        checkpoints.restore(state, model, optimizers)
        best.restore(state)
        logger.info("Going on after step %d of %d", state["step"], steps)
    start = 0 if state is None else int(state["step"])
    indices = pair_indices(len(pairs), options.batch_size, options.seed, start)
    share = slice(process_rank(), None, process_count())
    with (
        stop_requests() as stop,
        Progress(folder, steps, options.batch_size, options.report_every, report) as progress,
    ):
        progress.start(start, state)
        for step in range(start + 1, steps + 1):
            rows = pairs[next(indices)[share]]
            batch = make_batch(rows, padding, options.length_chunks, model.method.table is not None)
            rates = optimizers.set_rates(rate_share(step - 1, steps, options.warmup))
            terms = trained(move_batch(batch, encoder_device))
            accelerator.backward(terms[TOTAL])
            optimizers.step()
            progress.add(step, terms, {"learning_rate": rates["encoder"]})
            stopping = step < steps and _agree_to_stop(stop, step)
            if step == steps or (evaluate is not None and step % options.evaluate_every == 0):
                _select(step, model, best, progress, evaluate)
            if stopping or (step % options.checkpoint_every == 0 and step < steps):
                checkpoints.save(step, model, optimizers, {**progress.state(), **best.state()})
                best.prune()
                progress.resume()
            if stopping:
                raise TrainingInterrupted(
                    f"Training stopped after step {step} of {steps}; the same command goes on from there "
                    f"(checkpoint in {folder / 'checkpoints'}).",
                    stop.signal_number,
                )
    return best, progress


def step_count(pairs: int, options: TrainingOptions) -> int:
    """Number of steps of a training, which `steps` or else `epochs` says.

    Raises:
        EaseError: If the pairs fill no batch.
    """
    if pairs < options.batch_size:
        raise EaseError(
            f"{pairs} training pairs do not fill a batch of {options.batch_size}: lower `batch_size`, or loosen the "
            "filters that made the pairs."
        )
    return options.steps or options.epochs * (pairs // options.batch_size)


@contextlib.contextmanager
def accelerated(options: TrainingOptions) -> Iterator[Accelerator]:
    """Set up device, precision, threads, determinism and random states, and leave torch as it was."""
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    fill = torch.utils.deterministic.fill_uninitialized_memory
    workspace = os.environ.get("CUBLAS_WORKSPACE_CONFIG")
    on_gpu = options.device == "auto" and torch.cuda.is_available()
    half = options.precision == "bf16" or (
        options.precision == "auto" and on_gpu and torch.cuda.is_bf16_supported()
    )
    try:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.utils.deterministic.fill_uninitialized_memory = False
        torch.set_num_threads(options.threads or threads)
        with torch.random.fork_rng(devices=[torch.cuda.current_device()] if on_gpu else []):
            yield Accelerator(
                cpu=options.device == "cpu",
                mixed_precision="bf16" if half else "no",
                # A loaded BERT has a pooler that sentence embeddings do not use.
                kwargs_handlers=[
                    DistributedDataParallelKwargs(find_unused_parameters=True, broadcast_buffers=False)
                ],
            )
    finally:
        # accelerate remembers device and precision for the whole process, and refuses another training's.
        AcceleratorState._reset_state(reset_partial_state=True)
        GradientState._reset_state()
        torch.set_num_threads(threads)
        torch.utils.deterministic.fill_uninitialized_memory = fill
        torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
        if workspace is None:
            os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)


def _agree_to_stop(stop: StopRequest, step: int) -> bool:
    """Tell whether any process has been asked to stop; all of them ask at the same steps."""
    if process_count() == 1:
        return bool(stop)
    if step % STOP_CHECKS:
        return False
    device = "cuda" if torch.distributed.get_backend() == "nccl" else "cpu"
    asked = average(torch.tensor(float(bool(stop)), device=device))
    return bool(asked)


def _select(
    step: int, model: TrainingModel, best: BestModel, progress: Progress, evaluate: Evaluate | None
) -> None:
    """Score the encoder in the first process, report the scores and keep the model if it is the best."""
    progress.pause()
    if not process_rank():
        scores = {} if evaluate is None else score_encoder(model, evaluate)
        if scores:
            progress.publish(step, scores)
        best.consider(step, model, scores.get(DEVELOPMENT_SCORE))
    if process_count() > 1:
        torch.distributed.barrier()
    progress.resume()
