"""Compare encoding speed with `SentenceTransformer.encode`, and evaluation speed with and without the cache.

    python -m benchmarks.encoding_speed
    python -m benchmarks.encoding_speed --encoder bert-base-uncased --sentences 100000
    python -m benchmarks.encoding_speed --encoder base --made --sentences 200000 --rounds 3   # a GPU without any data

Both implementations encode the distinct sentences of the available evaluation sets (`inputs`) in alternating rounds,
with the same batch size; on a GPU also with matrix products in TF32. Then the same encoder scores the available tasks
twice: one by one without a cache, and together with a cache that starts empty. With `--made`, generated sentences are
encoded and no task is scored.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from benchmarks.command_line import command_line_parser
from benchmarks.inputs import evaluation_tasks
from benchmarks.large_batches import made_sentences
from benchmarks.training_data import BASE
from ease.encoders.encoder import build_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncoderOptions, EncodingOptions
from ease.evaluation.scoring import TaskOptions, score_tasks
from ease.io.device import best_device

PEER = "SentenceTransformer.encode"


def sentences_of(tasks: TaskOptions) -> list[str]:
    """Return the distinct sentences that the tasks encode."""
    found: dict[str, None] = {}

    def collect(sentences: Sequence[str]) -> np.ndarray:
        found.update(dict.fromkeys(sentences))
        return np.random.default_rng(0).normal(size=(len(sentences), 8)).astype(np.float32)

    score_tasks(collect, list(tasks), tasks)
    return list(found)


def in_turn(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median seconds of each function by name; rounds alternate between the functions."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            started = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(found) for name, found in seconds.items()}


def one_by_one(encoder: SentenceTransformer, tasks: TaskOptions, batch_size: int) -> None:
    """Score each task separately, without an embedding cache."""
    for name in tasks:
        score_tasks(partial(encoder.encode, batch_size=batch_size, show_progress_bar=False), [name], tasks)


def together(encoder: SentenceTransformer, tasks: TaskOptions, batch_size: int) -> None:
    """Score all tasks as the `evaluate` pipeline does, starting with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        options = EncodingOptions(batch_size=batch_size, cache=Path(cache))
        score_tasks(encode_with(encoder, options), list(tasks), tasks)


def in_tf32(way: Callable[[], object]) -> Callable[[], object]:
    """Return a function that multiplies matrices of single precision in TF32 on a GPU."""

    def run() -> None:
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high")
        try:
            way()
        finally:
            torch.set_float32_matmul_precision(before)

    return run


def main() -> None:
    """Parse the arguments, measure and print a Markdown table."""
    parser = command_line_parser(__doc__)
    parser.add_argument(
        "--encoder", help="base, a folder or a Hugging Face name; default: a random two-layer BERT"
    )
    parser.add_argument("--made", action="store_true", help="encode generated sentences, and score no task")
    parser.add_argument("--sentences", type=int, default=20_000, help="maximum number of sentences")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        measure(given, {} if given.made else evaluation_tasks(Path(work)))


def measure(given: argparse.Namespace, tasks: TaskOptions) -> None:
    """Measure each variant and print the table."""
    sentences = (sentences_of(tasks) if tasks else made_sentences(given.sentences))[: given.sentences]
    named = {None: EncoderOptions(), "base": EncoderOptions(random=BASE)}
    encoder = build_encoder(named.get(given.encoder) or EncoderOptions(name=given.encoder), sentences)
    encoder = encoder.to(best_device())
    options = EncodingOptions(batch_size=given.batch_size)
    ways: dict[str, Callable[[], object]] = {
        PEER: lambda: encoder.encode(sentences, batch_size=given.batch_size, show_progress_bar=False),
        "ours": lambda: encode_with(encoder, options)(sentences),
    }
    if encoder.device.type == "cuda":
        ways |= {f"{name}, TF32": in_tf32(way) for name, way in ways.items()}
    peers = dict.fromkeys(ways, PEER)
    if tasks:
        ways["tasks one by one, no cache"] = lambda: one_by_one(encoder, tasks, given.batch_size)
        ways["tasks together, with the cache"] = lambda: together(encoder, tasks, given.batch_size)
        peers |= dict.fromkeys(list(ways)[-2:], "tasks one by one, no cache")
    seconds = in_turn(ways, given.rounds)
    print(f"{len(sentences):,} sentences; tasks: {', '.join(tasks) or 'none'}; device: {encoder.device}\n")
    print("| | seconds | ratio |\n| --- | ---: | ---: |")
    for name, spent in seconds.items():
        print(f"| {name} | {spent:.1f} | {seconds[peers[name]] / spent:.2f} |")


if __name__ == "__main__":
    main()
