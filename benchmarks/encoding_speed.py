"""Compare encoding speed with `SentenceTransformer.encode`.

    python -m benchmarks.encoding_speed
    python -m benchmarks.encoding_speed --encoder bert-base-uncased --sentences 100000
    python -m benchmarks.encoding_speed --encoder base --sentences 50000 --batch-size 256 --rounds 9 --seconds 40

Both implementations encode generated sentences in alternating rounds: in single precision, with weights in bf16, and on
a GPU with matrix products in TF32; ours with its own batches, too, and in single precision with the same. The ratios
are to `SentenceTransformer.encode` in the same precision and in single precision, the cosines to its embeddings in
single precision. With one thread (`OMP_NUM_THREADS=1`), seconds are CPU time, which other processes hardly change.
"""

from __future__ import annotations

import argparse
import copy
import math
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from benchmarks.common import command_line_parser, print_head, print_row
from benchmarks.inputs import encoder_options, made_sentences
from ease.device import best_device
from ease.encoders.encoder import build_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncodingOptions, EncodingPrecision

PEER = "SentenceTransformer.encode"

Encode = Callable[[list[str]], np.ndarray]
Name = tuple[str, str, object]
"""Trainer, precision and batch size"""


def in_turn(ways: dict[Name, Callable[[], object]], rounds: int, budget: float) -> dict[Name, float]:
    """Return the median seconds of each function by name; rounds alternate between the functions.

    After the first round, no round begins that is likely to end after `budget` seconds.
    """
    seconds: dict[Name, list[float]] = {name: [] for name in ways}
    now = time.perf_counter
    if torch.get_num_threads() == 1 and not torch.cuda.is_available():
        now = time.process_time
    began = time.perf_counter()
    for completed in range(rounds):
        if completed and (time.perf_counter() - began) * (completed + 1) / completed > budget:
            break
        for name, way in ways.items():
            started = now()
            way()
            seconds[name].append(now() - started)
    return {name: statistics.median(times) for name, times in seconds.items()}


def by_peer(encoder: SentenceTransformer, precision: EncodingPrecision, batch_size: int) -> Encode:
    """Return the encoder's own way in a precision; that of products is set as users set it."""
    computing = encoder
    if precision == "bf16":
        # Not by `in_precision`, whose copy has our own layers.
        computing = copy.deepcopy(encoder).bfloat16()

    def encode(sentences: list[str]) -> np.ndarray:
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high" if precision == "tf32" else before)
        embeddings: np.ndarray = computing.encode(sentences, batch_size=batch_size, show_progress_bar=False)
        torch.set_float32_matmul_precision(before)
        return embeddings

    return encode


def main() -> None:
    """Parse the arguments, measure and print Markdown tables."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--encoder", default="small", help="small, base, a folder or a Hugging Face name")
    parser.add_argument("--sentences", type=int, default=20_000, help="maximum number of sentences")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf, help="time limit of further rounds")
    settings = parser.parse_args()
    sentences = list(dict.fromkeys(made_sentences(settings.sentences)))
    encoder = build_encoder(encoder_options(settings.encoder), sentences).to(best_device())
    print(f"{len(sentences):,} sentences; device: {encoder.device}\n")
    encoding_table(encoder, sentences, settings)


def encoding_table(encoder: SentenceTransformer, sentences: list[str], settings: argparse.Namespace) -> None:
    """Print a row for each way and precision."""
    precisions: list[EncodingPrecision] = ["fp32", "bf16"]
    if encoder.device.type == "cuda":
        precisions.insert(1, "tf32")
    encodes: dict[Name, Encode] = {}
    for precision in precisions:
        encodes[PEER, precision, settings.batch_size] = by_peer(encoder, precision, settings.batch_size)
        for size in (settings.batch_size, None) if precision == "fp32" else (None,):
            options = EncodingOptions(batch_size=size, precision=precision)
            encodes["ours", precision, size or "by tokens"] = encode_with(encoder, options)
    for encode in encodes.values():
        encode(sentences[:: max(1, len(sentences) // 1000)])  # loads libraries and kernels
    embeddings: dict[Name, np.ndarray] = {}

    def run(name: Name) -> None:
        embeddings[name] = encodes[name](sentences)

    seconds = in_turn({name: partial(run, name) for name in encodes}, settings.rounds, settings.seconds)
    heads = ("seconds", "sentences/s", "ratio", "ratio to fp32", "largest 1 - cosine")
    print_head("", "precision", "batch", *heads, texts=3)
    single = PEER, "fp32", settings.batch_size
    for name, spent in seconds.items():
        ratios = [f"{seconds[peer] / spent:.2f}" for peer in ((PEER, name[1], settings.batch_size), single)]
        left, right = (torch.from_numpy(embeddings[way]).double() for way in (name, single))
        nearness = float(torch.cosine_similarity(left.to(encoder.device), right.to(encoder.device)).min())
        print_row(*name, f"{spent:.2f}", f"{len(sentences) / spent:,.0f}", *ratios, f"{1 - nearness:.0e}")


if __name__ == "__main__":
    main()
