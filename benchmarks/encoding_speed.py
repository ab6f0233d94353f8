"""Compare encoding speed with `SentenceTransformer.encode`, and evaluation speed with and without the cache.

    python -m benchmarks.encoding_speed
    python -m benchmarks.encoding_speed --encoder bert-base-uncased --sentences 100000
    python -m benchmarks.encoding_speed --encoder base --made --sentences 50000 --batch-size 256 --rounds 9 --seconds 40

Both implementations encode the distinct sentences of the available evaluation sets (`inputs`) in alternating rounds: in
single precision, with weights in bf16, and on a GPU with matrix products in TF32; ours also with its own batches. The
ratios are to `SentenceTransformer.encode` in the same precision and in single precision, the cosines to its embeddings
in single precision. Then the same encoder scores the available tasks twice: one by one without a cache, and together
with a cache that starts empty. With `--made`, generated sentences are encoded and no task is scored.
"""

from __future__ import annotations

import argparse
import math
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
from ease.encoders.encoding import encode_with, in_precision
from ease.encoders.options import EncoderOptions, EncodingOptions, EncodingPrecision
from ease.evaluation.scoring import TaskOptions, score_tasks
from ease.io.device import best_device

PEER = "SentenceTransformer.encode"

Encode = Callable[[list[str]], np.ndarray]


def sentences_of(tasks: TaskOptions) -> list[str]:
    """Return the distinct sentences that the tasks encode."""
    found: dict[str, None] = {}

    def collect(sentences: Sequence[str]) -> np.ndarray:
        found.update(dict.fromkeys(sentences))
        return np.random.default_rng(0).normal(size=(len(sentences), 8)).astype(np.float32)

    score_tasks(collect, list(tasks), tasks)
    return list(found)


def in_turn(ways: dict[str, Callable[[], object]], rounds: int, budget: float = math.inf) -> dict[str, float]:
    """Return the median seconds of each function by name; rounds alternate between the functions.

    After the first round, no round begins that is likely to end after `budget` seconds.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    began = time.perf_counter()
    for done in range(rounds):
        if done and (time.perf_counter() - began) * (done + 1) / done > budget:
            break
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


def by_peer(encoder: SentenceTransformer, precision: EncodingPrecision, batch_size: int) -> Encode:
    """Return the encoder's own way in a precision; that of products is set as users set it."""
    computing = in_precision(encoder, precision)

    def encode(sentences: list[str]) -> np.ndarray:
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high" if precision == "tf32" else before)
        found: np.ndarray = computing.encode(sentences, batch_size=batch_size, show_progress_bar=False)
        torch.set_float32_matmul_precision(before)
        return found

    return encode


def main() -> None:
    """Parse the arguments, measure and print Markdown tables."""
    parser = command_line_parser(__doc__)
    parser.add_argument(
        "--encoder", help="base, a folder or a Hugging Face name; default: a random two-layer BERT"
    )
    parser.add_argument("--made", action="store_true", help="encode generated sentences, and score no task")
    parser.add_argument("--sentences", type=int, default=20_000, help="maximum number of sentences")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf, help="time limit of further rounds")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        measure(given, {} if given.made else evaluation_tasks(Path(work)))


def measure(given: argparse.Namespace, tasks: TaskOptions) -> None:
    """Measure each variant and print the tables."""
    found = sentences_of(tasks) if tasks else made_sentences(given.sentences)
    sentences = list(dict.fromkeys(found))[: given.sentences]
    named = {None: EncoderOptions(), "base": EncoderOptions(random=BASE)}
    encoder = build_encoder(named.get(given.encoder) or EncoderOptions(name=given.encoder), sentences)
    encoder = encoder.to(best_device())
    precisions: list[EncodingPrecision] = ["fp32", "bf16"]
    if encoder.device.type == "cuda":
        precisions.insert(1, "tf32")
    encodes: dict[str, Encode] = {}
    peers: dict[str, str] = {}
    for precision in precisions:
        own, ours = (
            EncodingOptions(batch_size=size, precision=precision) for size in (None, given.batch_size)
        )
        peers[precision] = f"{PEER} | {precision} | {given.batch_size}"
        encodes[peers[precision]] = by_peer(encoder, precision, given.batch_size)
        encodes[f"ours | {precision} | {given.batch_size}"] = encode_with(encoder, ours)
        if precision != "tf32":
            encodes[f"ours | {precision} | by tokens"] = encode_with(encoder, own)
    for encode in encodes.values():
        encode(sentences[:: max(1, len(sentences) // 1000)])  # loads libraries and kernels
    embeddings: dict[str, np.ndarray] = {}

    def run(name: str) -> None:
        embeddings[name] = encodes[name](sentences)

    seconds = in_turn({name: partial(run, name) for name in encodes}, given.rounds, given.seconds)
    print(f"{len(sentences):,} sentences; tasks: {', '.join(tasks) or 'none'}; device: {encoder.device}\n")
    print(
        "| | precision | batch | seconds | sentences/s | ratio | ratio to fp32 | largest 1 - cosine |\n"
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"
    )
    for name, spent in seconds.items():
        same, single = (seconds[peers[own]] / spent for own in (name.split(" | ")[1], "fp32"))
        one, other = (torch.from_numpy(embeddings[own]).double() for own in (name, peers["fp32"]))
        nearness = float(torch.cosine_similarity(one.to(encoder.device), other.to(encoder.device)).min())
        print(
            f"| {name} | {spent:.2f} | {len(sentences) / spent:,.0f} | {same:.2f} | {single:.2f} | "
            f"{1 - nearness:.0e} |"
        )
    if tasks:
        separate, joint = "tasks one by one, no cache", "tasks together, with the cache"
        ways: dict[str, Callable[[], object]] = {
            separate: partial(one_by_one, encoder, tasks, given.batch_size),
            joint: partial(together, encoder, tasks, given.batch_size),
        }
        scored = in_turn(ways, given.rounds)
        print("\n| | seconds | ratio |\n| --- | ---: | ---: |")
        for name, spent in scored.items():
            print(f"| {name} | {spent:.1f} | {scored[separate] / spent:.2f} |")


if __name__ == "__main__":
    main()
