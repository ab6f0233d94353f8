"""How a training run computes its batches: chosen once, from its options, this machine and the encoder.

The choice changes speed and memory. It changes losses by rounding alone, except that packing, compilation and passes
for half precision draw other dropout masks.
"""

from __future__ import annotations

import logging
import math
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import torch
from sentence_transformers import SentenceTransformer

from ease.encoders.onednn import has_onednn
from ease.encoders.precision import faster_cpu_precision
from ease.errors import EaseError
from ease.training.options import TrainingOptions, check_share
from ease.training.packing import ROW_TOKENS, PackingRefusal, prepare_packing
from ease.training.prepared_pairs import prompt_tokens

logger = logging.getLogger(__name__)

CPU_CHUNKS = 4
"""Chunks by length in which a CPU encodes padded texts"""


@dataclass(frozen=True)
class Execution:
    """How a training run computes its batches."""

    device: Literal["cpu", "cuda"] = "cpu"
    precision: Literal["fp32", "bf16"] = "fp32"
    """Of the encoder, by autocast; losses are always computed in single precision"""
    threads: int | None = None
    """Of a CPU; None: torch's default"""
    deterministic: bool = True
    first_position: int | None = None
    """The number of a text's first position in packed rows; None: texts are padded"""
    graphs: bool = False
    """Whether CUDA graphs replay the transformer's passes"""
    compiled: bool = False
    token_tables: bool = False
    """Whether gradients of tables of embeddings have only the rows that were read, instead of torch's"""
    half_transformer: bool = False
    """Whether the transformer has passes for half precision on a CPU, instead of autocast's"""
    onednn: bool = False
    """Whether the encoder's linear layers use oneDNN's products"""
    sub_batches: int = 1
    """Parts of a batch whose gradients are averaged before a step; only pairs of one part contrast with each other"""
    chunks: int = 1
    """Parts by length in which a process encodes its share of a sub-batch"""
    mini_batch_size: int | None = None
    """Pairs whose activations and logits are in memory at a time; None: all"""

    @property
    def packed(self) -> bool:
        """Whether texts share rows, instead of being padded."""
        return self.first_position is not None


PLAIN_EXECUTION = Execution()
"""A batch at once, on a CPU, by torch alone"""


def uses_gpu(options: TrainingOptions) -> bool:
    """Return whether a training run uses a GPU of this machine."""
    return options.device == "auto" and torch.cuda.is_available()


def check_execution(options: TrainingOptions, processes: int) -> None:
    """Refuse what cannot be executed on this machine, before anything is loaded."""
    check_share(options, processes)
    if options.compiled and options.packed is True and not uses_gpu(options):
        raise EaseError("On a CPU, `compiled` is for padded texts: set `packed: false`, or `compiled: false`.")


def choose_execution(
    options: TrainingOptions, encoder: SentenceTransformer, columns: int, processes: int = 1
) -> Execution:
    """Return how a training run is executed, and log it with the reasons in one line.

    Args:
        options: The training run's parameters.
        encoder: The encoder to train; it is made to accept packed texts if they are used.
        columns: Columns of texts that the method encodes.
        processes: Processes of the training run.

    Raises:
        EaseError: If packing or CUDA graphs are required by the options and not possible.
    """
    on_gpu = uses_gpu(options)
    precision, precision_reason = _precision(options, encoder, on_gpu)
    obstacle = graphs_obstacle(options, on_gpu, columns, processes)
    first_position = None
    if obstacle is None:
        try:
            first_position = prepare_packing(encoder)
        except PackingRefusal as refusal:
            obstacle = refusal.reason
    if obstacle is not None and options.graphs is True:
        raise EaseError(f"`graphs: true` is not possible here ({obstacle}): set `graphs: auto`.")
    # DistributedDataParallel waits for gradients that torch accumulates.
    own_passes = not on_gpu and not options.compiled and processes == 1
    half_transformer = own_passes and precision == "bf16"
    if first_position is None and options.packed is True:
        first_position = prepare_packing(encoder)
    elif half_transformer and options.packed == "auto" and _fills_rows(options, encoder):
        with suppress(PackingRefusal):
            first_position = prepare_packing(encoder)
    execution = Execution(
        device="cuda" if on_gpu else "cpu",
        precision=precision,
        threads=options.threads,
        deterministic=options.deterministic,
        first_position=first_position,
        graphs=obstacle is None,
        compiled=options.compiled,
        token_tables=own_passes,
        half_transformer=half_transformer,
        # The layers have products in fp32 alone.
        onednn=options.onednn and precision == "fp32" and not options.compiled and has_onednn(),
        sub_batches=options.batch_size // options.contrasted,
        chunks=_chunks(options, on_gpu, first_position is not None, processes),
        mini_batch_size=options.mini_batch_size,
    )
    if os.environ.get("RANK", "0") == "0":  # in one of torchrun's processes
        logger.info("Execution: %s", "; ".join(_descriptions(execution, options, obstacle, precision_reason)))
    return execution


def graphs_obstacle(options: TrainingOptions, on_gpu: bool, columns: int, processes: int) -> str | None:
    """Return why CUDA graphs cannot be used, the encoder aside; None if they can."""
    # A graph's activations lie in memory that the next graph overwrites, so every forward pass is followed by its own
    # backward pass, and all its gradients are there at once.
    obstacles = {
        "`graphs: false`": options.graphs is False,
        "`packed: false`": options.packed is False,
        "there is no GPU": not on_gpu,
        "several `processes` exchange gradients during the backward pass": processes > 1,
        "`mini_batch_size` computes a batch in parts": options.mini_batch_size is not None,
        "`length_chunks` cuts a batch into parts": (options.length_chunks or 1) > 1,
        f"the method encodes {columns} columns of texts": columns != 1,
    }
    return next((reason for reason, applies in obstacles.items() if applies), None)


def _fills_rows(options: TrainingOptions, encoder: SentenceTransformer) -> bool:
    """Return whether packed rows have less padding than padded texts in chunks, whatever the texts' lengths.

    Many texts are truncated to the greatest length. If it is 35 tokens, a row of 64 has a single one of them. A chunk
    by length, too, has many texts of one length.
    """
    in_chunks = options.mini_batch_size is not None or (options.length_chunks or 1) > 1
    return not in_chunks and ROW_TOKENS % (options.max_tokens + prompt_tokens(encoder)) == 0


def _precision(
    options: TrainingOptions, encoder: SentenceTransformer, on_gpu: bool
) -> tuple[Literal["fp32", "bf16"], str | None]:
    """Return the precision, and on a CPU the reason unless the options name the precision."""
    if options.precision != "auto":
        return options.precision, None
    if not on_gpu:
        return faster_cpu_precision(encoder)
    # GPUs before Ampere only emulate bf16.
    if torch.cuda.is_bf16_supported(including_emulation=False):
        return "bf16", None
    return "fp32", None


def _chunks(options: TrainingOptions, on_gpu: bool, packed: bool, processes: int) -> int:
    """Return the number of chunks of each process's share of a sub-batch, none larger than a mini-batch."""
    chunks = options.length_chunks
    if chunks is None:
        # Padding is expensive on a CPU; a GPU is faster with fewer and larger operations.
        chunks = 1 if on_gpu or packed else CPU_CHUNKS
    if options.mini_batch_size is None:
        return chunks
    return max(chunks, math.ceil(options.contrasted / processes / options.mini_batch_size))


def _descriptions(
    execution: Execution, options: TrainingOptions, obstacle: str | None, precision_reason: str | None
) -> list[str]:
    """Return what was chosen, each with its reason unless an option names it."""
    if execution.device == "cuda":
        parts = [f"GPU, {execution.precision}"]
    else:
        reason = "`device: cpu`" if options.device == "cpu" else "no GPU is available"
        parts = [f"CPU ({reason}), {options.threads or torch.get_num_threads()} threads, {execution.precision}"]
        if precision_reason is not None:
            parts[0] += f" ({precision_reason})"
    if execution.packed:
        parts.append(f"texts in rows of {ROW_TOKENS} tokens ({_packing_reason(execution, options)})")
    else:
        parts.append(f"padded texts, in {execution.chunks} chunks by length")
    if execution.sub_batches > 1:
        parts.append(f"{execution.sub_batches} sub-batches a step")
    if execution.mini_batch_size is not None:
        parts.append(f"mini-batches of {execution.mini_batch_size} pairs, computed twice")
    if execution.compiled:
        parts.append("compiled layers")
    if execution.onednn:
        parts.append("oneDNN's linear layers")
    if execution.graphs:
        parts.append("CUDA graphs of the transformer")
    elif execution.device == "cuda":
        parts.append(f"no CUDA graphs ({obstacle})")
    return parts


def _packing_reason(execution: Execution, options: TrainingOptions) -> str:
    if execution.graphs:
        return "for CUDA graphs"
    if options.packed is True:
        return "`packed: true`"
    return "in bf16 faster than padded texts"
