"""Memory and pairs per second of large batches: computed directly, and in blocks with gradient caching.

    python -m benchmarks.large_batches
    python -m benchmarks.large_batches --encoder base --batch-sizes 256 1024 4096 --steps 2
    python -m benchmarks.large_batches --encoder base --batch-sizes 4096 --steps 1 --no-direct

Both train SimCSE (equation 3) on the same made sentences, from the same encoder, in parts of equal size, so that
texts are padded alike; in blocks, the activations and similarities of one part are held at a time (`mini_batch_size`).
Each training has a process of its own. Memory is its peak less what the process held before it, encoder and optimiser
included: resident on a CPU, allocated by torch on a GPU. Rounds alternate, and medians count.
"""

from __future__ import annotations

import argparse
import logging
import math
import multiprocessing
import statistics
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from benchmarks.memory import peak_megabytes
from ease.encoders.encoder import build_encoder, save_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.training import TrainingJob, TrainingOptions, run_job

ENCODERS = {
    "small": RandomBertOptions(),
    "base": RandomBertOptions(layers=12, hidden_size=768, heads=12, intermediate_size=3072),
}
"""Random weights: a BERT of two layers, and one of BERT-base's size."""

MAX_TOKENS = 32
MEGABYTE = 2**20


class Measured(NamedTuple):
    """What a training took."""

    megabytes: float
    pairs_per_second: float


def made_sentences(count: int, seed: int = 0) -> list[str]:
    """Sentences of Zipf-distributed words, of 3 to 40 words, 17 in the middle."""
    random = np.random.default_rng(seed)
    lengths = np.clip(random.lognormal(np.log(17), 0.5, count).astype(int), 3, 40)
    words = random.zipf(1.5, lengths.sum()) % 5000
    ends = np.cumsum(lengths)
    return [
        " ".join(f"w{word}" for word in words[end - length : end])
        for end, length in zip(ends, lengths, strict=True)
    ]


def prepare(folder: Path, encoder: str, pairs: int) -> None:
    """Write the sentences and the encoder that all trainings read."""
    sentences = made_sentences(pairs)
    pq.write_table(pa.table({"sentence": sentences}), folder / "pairs.parquet")
    random = ENCODERS.get(encoder)
    options = EncoderOptions(name=encoder) if random is None else EncoderOptions(random=random)
    save_encoder(build_encoder(options, sentences), folder / "encoder")


def measure(folder: Path, batch_size: int, part: int, in_blocks: bool, steps: int) -> Measured:
    """Train, in a process of its own: direct and in blocks, a batch is encoded in the same parts."""
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as work:
        training = TrainingOptions(
            batch_size=batch_size,
            max_steps=steps,
            max_tokens=MAX_TOKENS,
            length_chunks=math.ceil(batch_size / part),
            mini_batch_size=part if in_blocks else None,
        )
        job = TrainingJob(
            folder=Path(work),
            pairs=folder / "pairs.parquet",
            encoder=str(folder / "encoder"),
            method="simcse",
            training=training,
        )
        before = peak_megabytes()
        rate = run_job(job).pairs_per_second
    if torch.cuda.is_available():
        return Measured(torch.cuda.max_memory_allocated() / MEGABYTE, rate)
    return Measured(peak_megabytes() - before, rate)


WAYS = {"direct": False, "blocks": True}


def medians(
    folder: Path, batch_size: int, part: int, steps: int, rounds: int, ways: Sequence[str]
) -> dict[str, Measured]:
    """Of each way, the medians of rounds in turn."""
    found: dict[str, list[Measured]] = {way: [] for way in ways}
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as processes:
        for _ in range(rounds):
            for way, runs in found.items():
                task = processes.submit(measure, folder, batch_size, part, WAYS[way], steps)
                runs.append(task.result())
    return {way: Measured(*map(statistics.median, zip(*runs, strict=True))) for way, runs in found.items()}


def row(batch_size: int, blocks: Measured, direct: Measured | None) -> str:
    """A row of the table."""
    memory = _beside(blocks.megabytes, direct and direct.megabytes, ",.0f")
    speed = _beside(blocks.pairs_per_second, direct and direct.pairs_per_second, ".1f")
    return f"| {' | '.join([f'{batch_size:,}', *memory, *speed])} |"


def _beside(blocks: float, direct: float | None, form: str) -> list[str]:
    """A figure of both ways and their ratio; dashes where the direct way was not measured."""
    if direct is None:
        return ["–", format(blocks, form), "–"]
    return [format(direct, form), format(blocks, form), f"{blocks / direct:.2f}"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoder", default="small", help="small, base, a folder or a hub name")
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[128, 512, 1024])
    parser.add_argument("--mini-batch-size", type=int, default=64, help="pairs in a part of a batch")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--no-direct", action="store_true", help="measure blocks alone, where a whole batch does not fit"
    )
    options = parser.parse_args(arguments)
    ways = ["blocks"] if options.no_direct else list(WAYS)
    heads = ["batch", "direct, MB", "blocks, MB", "ratio", "direct, pairs/s", "blocks, pairs/s", "ratio"]
    sys.stdout.write(f"| {' | '.join(heads)} |\n|{'---:|' * len(heads)}\n")
    with tempfile.TemporaryDirectory() as work:
        prepare(Path(work), options.encoder, max(options.batch_sizes))
        for batch_size in options.batch_sizes:
            found = medians(
                Path(work), batch_size, options.mini_batch_size, options.steps, options.rounds, ways
            )
            sys.stdout.write(row(batch_size, found["blocks"], found.get("direct")) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
