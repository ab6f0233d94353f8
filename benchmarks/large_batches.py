"""Measure memory and pairs per second of large batches: computed directly, and in mini-batches with gradient caching.

    python -m benchmarks.large_batches
    python -m benchmarks.large_batches --encoder base --batch-sizes 256 1024 4096 --steps 2
    python -m benchmarks.large_batches --encoder base --batch-sizes 4096 --steps 1 --no-direct

Both variants train SimCSE (equation 3) from the same encoder on the same generated sentences. Both encode a batch in
parts of the same size, so that padding is equal. With gradient caching (`mini_batch_size`, called "mini-batches" in the
table), only the activations and similarities of one part are in memory at a time.
Each training runs in a separate process. Memory is the peak minus the memory in use before the training; it includes
the encoder and the optimiser. On a CPU it is resident memory, on a GPU the memory that torch allocated. Rounds
alternate between the variants; the table shows medians.
"""

from __future__ import annotations

import logging
import math
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from benchmarks.command_line import command_line_parser
from benchmarks.memory import in_new_process, peak_megabytes
from ease.encoders.batches import FullMemoryError
from ease.encoders.encoder import build_encoder, save_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.training.job import run_job
from ease.training.options import TrainingJob, TrainingOptions

ENCODERS = {
    "small": RandomBertOptions(),
    "base": RandomBertOptions(layers=12, hidden_size=768, heads=12, intermediate_size=3072),
}
"""Randomly initialised encoders: a two-layer BERT, and one of the size of BERT-base."""

MAX_TOKENS = 32
MEGABYTE = 2**20


class Measured(NamedTuple):
    """Peak memory and speed of a training."""

    megabytes: float
    pairs_per_second: float


def made_sentences(count: int, seed: int = 0) -> list[str]:
    """Return sentences of Zipf-distributed words; lengths are 3 to 40 words, with a median of 17."""
    random = np.random.default_rng(seed)
    lengths = np.clip(random.lognormal(np.log(17), 0.5, count).astype(int), 3, 40)
    words = random.zipf(1.5, lengths.sum()) % 5000
    ends = np.cumsum(lengths)
    return [
        " ".join(f"w{word}" for word in words[end - length : end])
        for end, length in zip(ends, lengths, strict=True)
    ]


def prepare(folder: Path, encoder: str, pairs: int) -> None:
    """Write the sentences and the encoder that all trainings share."""
    sentences = made_sentences(pairs)
    pq.write_table(pa.table({"sentence": sentences}), folder / "pairs.parquet")
    random = ENCODERS.get(encoder)
    options = EncoderOptions(name=encoder) if random is None else EncoderOptions(random=random)
    save_encoder(build_encoder(options, sentences), folder / "encoder")


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
        return Measured(torch.cuda.max_memory_allocated() / MEGABYTE, rate)
    return Measured(peak_megabytes() - before, rate)


WAYS = {"direct": False, "mini-batches": True}


def medians(
    folder: Path, batch_size: int, part: int, steps: int, rounds: int, ways: Sequence[str]
) -> dict[str, Measured]:
    """Return the medians of each variant; rounds alternate between the variants."""
    found: dict[str, list[Measured]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, runs in found.items():
            runs.append(in_new_process(measure, folder, batch_size, part, WAYS[way], steps))
    return {way: Measured(*map(statistics.median, zip(*runs, strict=True))) for way, runs in found.items()}


def row(batch_size: int, cached: Measured, direct: Measured | None) -> str:
    """Return the table row of a batch size."""
    memory = _beside(cached.megabytes, direct and direct.megabytes, ",.0f")
    speed = _beside(cached.pairs_per_second, direct and direct.pairs_per_second, ".1f")
    return f"| {' | '.join([f'{batch_size:,}', *memory, *speed])} |"


def _beside(cached: float, direct: float | None, form: str) -> list[str]:
    """Return both figures and their ratio, or dashes if the direct variant was not measured."""
    if direct is None:
        return ["–", format(cached, form), "–"]
    return [format(direct, form), format(cached, form), f"{cached / direct:.2f}"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the arguments, measure and print a Markdown table."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--encoder", default="small", help="small, base, a folder or a Hugging Face name")
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[128, 512, 1024])
    parser.add_argument("--mini-batch-size", type=int, default=64, help="pairs in each part of a batch")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--no-direct",
        action="store_true",
        help="skip the direct variant, for batches that do not fit in memory",
    )
    options = parser.parse_args(arguments)
    ways = ["mini-batches"] if options.no_direct else list(WAYS)
    heads = [
        "batch",
        "direct, MB",
        "mini-batches, MB",
        "ratio",
        "direct, pairs/s",
        "mini-batches, pairs/s",
        "ratio",
    ]
    sys.stdout.write(f"| {' | '.join(heads)} |\n|{'---:|' * len(heads)}\n")
    with tempfile.TemporaryDirectory() as work:
        prepare(Path(work), options.encoder, max(options.batch_sizes))
        for batch_size in options.batch_sizes:
            found = medians(
                Path(work), batch_size, options.mini_batch_size, options.steps, options.rounds, ways
            )
            sys.stdout.write(row(batch_size, found["mini-batches"], found.get("direct")) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
