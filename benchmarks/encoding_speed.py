"""Encoding for evaluation: beside `SentenceTransformer.encode`, and the suite with and without the cache.

    python -m benchmarks.encoding_speed --data /data/evaluation
    python -m benchmarks.encoding_speed --data /data/evaluation --encoder bert-base-uncased --sentences 100000

The sentences are those of the evaluation sets, each once. Both encode them in turn with the same batch size. Then the
tasks that are there are scored one by one without a cache, and together with an empty one, by the same encoder.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from sentence_transformers import SentenceTransformer

from ease.encoder import EncoderOptions, build_encoder
from ease.encoding import EncodingOptions, best_device, encode_with
from ease.evaluation_sets import at_paths, locate_sets, scorable
from ease.scoring import TaskOptions, score_tasks

TASKS = ("sts", "stsb", "sickr", "sts17", "tatoeba", "qnli")
"""Their scoring is quick, so that what is measured is encoding."""
CONFIGURED = Path(__file__).parents[1] / "conf" / "base" / "parameters" / "tasks"


def tasks_in(folder: Path) -> TaskOptions:
    """Read the tasks' configured options, with their paths below a folder, for the sets that are there."""
    tasks: dict[str, dict[str, Any]] = {}
    for name in TASKS:
        options = yaml.safe_load((CONFIGURED / f"{name}.yml").read_text(encoding="utf-8"))["tasks"][name]
        tasks[name] = {**options, "path": str(folder / options["path"])}
    located = locate_sets(TASKS, tasks)
    return {name: at_paths(tasks, located)[name] for name in scorable(TASKS, located)}


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
    parser.add_argument("--data", type=Path, help="evaluation sets; by default $EASE_TEST_DATA/eval")
    parser.add_argument("--encoder", help="a folder or hub name; by default a random BERT of two layers")
    parser.add_argument("--sentences", type=int, default=100_000, help="at most")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if given.data is None and "EASE_TEST_DATA" not in os.environ:
        parser.error("give --data, or set EASE_TEST_DATA")
    tasks = tasks_in(given.data or Path(os.environ["EASE_TEST_DATA"]) / "eval")
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
