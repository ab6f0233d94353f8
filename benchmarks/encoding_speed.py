"""Encoding for evaluation: beside `SentenceTransformer.encode`, and the suite with and without the cache.

    python -m benchmarks.encoding_speed
    python -m benchmarks.encoding_speed --encoder bert-base-uncased --sentences 100000

The sentences are those of the evaluation sets at hand (`inputs`), each once. Both encode them in turn with the same
batch size. Then the tasks that are there are scored one by one without a cache, and together with an empty one, by the
same encoder.
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
from sentence_transformers import SentenceTransformer

from benchmarks.inputs import evaluation_tasks
from ease.encoders.encoder import build_encoder
from ease.encoders.encoding import best_device, encode_with
from ease.encoders.options import EncoderOptions, EncodingOptions
from ease.evaluation.scoring import TaskOptions, score_tasks


def sentences_of(tasks: TaskOptions) -> list[str]:
    """Collect the sentences that the tasks ask to be encoded, each once."""
    found: dict[str, None] = {}

    def collect(sentences: Sequence[str]) -> np.ndarray:
        found.update(dict.fromkeys(sentences))
        return np.random.default_rng(0).normal(size=(len(sentences), 8)).astype(np.float32)

    score_tasks(collect, list(tasks), tasks)
    return list(found)


def in_turn(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each way, by its name."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            started = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(found) for name, found in seconds.items()}


def one_by_one(encoder: SentenceTransformer, tasks: TaskOptions, batch_size: int) -> None:
    """Score each task with an encoder that keeps nothing."""
    for name in tasks:
        score_tasks(partial(encoder.encode, batch_size=batch_size, show_progress_bar=False), [name], tasks)


def together(encoder: SentenceTransformer, tasks: TaskOptions, batch_size: int) -> None:
    """Score all tasks as `evaluate` does, with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        options = EncodingOptions(batch_size=batch_size, cache=Path(cache))
        score_tasks(encode_with(encoder, options), list(tasks), tasks)


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoder", help="a folder or hub name; by default a random BERT of two layers")
    parser.add_argument("--sentences", type=int, default=20_000, help="at most")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        measure(given, evaluation_tasks(Path(work)))


def measure(given: argparse.Namespace, tasks: TaskOptions) -> None:
    """Time each way in turn."""
    sentences = sentences_of(tasks)[: given.sentences]
    encoder = build_encoder(
        EncoderOptions(name=given.encoder) if given.encoder else EncoderOptions(), sentences
    )
    encoder = encoder.to(best_device())
    options = EncodingOptions(batch_size=given.batch_size)
    ways: dict[str, Callable[[], object]] = {
        "SentenceTransformer.encode": lambda: encoder.encode(
            sentences, batch_size=given.batch_size, show_progress_bar=False
        ),
        "ours": lambda: encode_with(encoder, options)(sentences),
        "tasks one by one, no cache": lambda: one_by_one(encoder, tasks, given.batch_size),
        "tasks together, with the cache": lambda: together(encoder, tasks, given.batch_size),
    }
    seconds = in_turn(ways, given.rounds)
    print(f"{len(sentences):,} sentences; tasks: {', '.join(tasks)}; device: {encoder.device}\n")
    print("| | seconds | ratio |\n| --- | ---: | ---: |")
    names = list(ways)
    for name in names:
        peer = names[names.index(name) // 2 * 2]
        print(f"| {name} | {seconds[name]:.1f} | {seconds[peer] / seconds[name]:.2f} |")


if __name__ == "__main__":
    main()
