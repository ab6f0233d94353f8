"""Measure memory and pairs per second of large batches: computed directly, and in mini-batches with gradient caching.

    python -m benchmarks.large_batches
    python -m benchmarks.large_batches --encoder base --batch-sizes 256 1024 4096 --steps 2
    python -m benchmarks.large_batches --encoder base --batch-sizes 4096 --steps 1 --no-direct

Both variants train SimCSE (equation 3) from the same encoder on the same generated sentences. Both encode a batch in
parts of the same size, so that padding is equal. With gradient caching (`mini_batch_size`, called "mini-batches" in the
table), only the activations and similarities of one part are in memory at a time.
Each training run has its own process. Memory is the peak minus the memory in use before training; it includes
the encoder and the optimiser. On a CPU it is resident memory, on a GPU the memory that torch allocated. Rounds
alternate between the variants; the table shows medians.
"""

from __future__ import annotations

import logging
import math
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from benchmarks.common import command_line_parser, in_new_process, peak_megabytes, print_head, print_row
from benchmarks.inputs import encoder_options, made_sentences
from ease.encoders.batches import FullMemoryError
from ease.encoders.encoder import build_encoder, save_encoder
from ease.training.job import run_job
from ease.training.options import TrainingJob, TrainingOptions

MAX_TOKENS = 32


class Measured(NamedTuple):
    """Peak memory and speed of a training."""

    megabytes: float
    pairs_per_second: float


def prepare(folder: Path, encoder: str, pairs: int) -> None:
    """Write the sentences and the encoder that all training runs share."""
    sentences = made_sentences(pairs)
    pq.write_table(pa.table({"sentence": sentences}), folder / "pairs.parquet")
    save_encoder(build_encoder(encoder_options(encoder), sentences), folder / "encoder")


def measure(folder: Path, batch_size: int, part: int, in_mini_batches: bool, steps: int) -> Measured:
    """Train in the current process, with both variants in parts of `part` pairs; nan if it does not fit in memory."""
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as work:
        training = TrainingOptions(
            batch_size=batch_size,
            max_steps=steps,
            max_tokens=MAX_TOKENS,
            length_chunks=math.ceil(batch_size / part),
            mini_batch_size=part if in_mini_batches else None,
            report_every=max(1, steps // 4),  # a report waits for the device
        )
        job = TrainingJob(
            folder=Path(work),
            pairs=folder / "pairs.parquet",
            encoder=str(folder / "encoder"),
            method="simcse",
            training=training,
        )
        before = peak_megabytes()
        try:
            result = run_job(job)
        except FullMemoryError:
            return Measured(math.nan, math.nan)
    rates = [line["pairs_per_second"] for line in result.history if "pairs_per_second" in line]
    rate = statistics.median(rates[1:] or rates)  # the first step includes the start-up
    if torch.cuda.is_available():
        return Measured(torch.cuda.max_memory_allocated() / 2**20, rate)
    return Measured(peak_megabytes() - before, rate)


def cells_of(figures: Sequence[float], form: str) -> list[str]:
    """Return the figures of the mini-batches and of the direct variant, if it was measured, and their ratio."""
    if len(figures) == 1:
        return ["–", format(figures[0], form), "–"]
    cached, direct = figures
    return [format(direct, form), format(cached, form), f"{cached / direct:.2f}"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the arguments, measure and print a Markdown table."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--encoder", default="small", help="small, base, a folder or a Hugging Face name")
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[128, 512, 1024])
    parser.add_argument("--mini-batch-size", type=int, default=64, help="pairs in each part of a batch")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--no-direct", action="store_true", help="for batches that do not fit in memory")
    options = parser.parse_args(arguments)
    heads = [f"{way}, {unit}" for unit in ("MB", "pairs/s") for way in ("direct", "mini-batches")]
    print_head("batch", *heads[:2], "ratio", *heads[2:], "ratio", texts=0)
    with tempfile.TemporaryDirectory() as work:
        prepare(Path(work), options.encoder, max(options.batch_sizes))
        for batch_size in options.batch_sizes:
            ways = [True] if options.no_direct else [True, False]
            runs = [
                [
                    in_new_process(measure, Path(work), batch_size, options.mini_batch_size, way, options.steps)
                    for way in ways
                ]
                for _ in range(options.rounds)
            ]
            memory, speed = np.median(runs, axis=0).T  # (ways, memory and speed)
            print_row(f"{batch_size:,}", *cells_of(memory, ",.0f"), *cells_of(speed, ".1f"))


if __name__ == "__main__":
    main()
