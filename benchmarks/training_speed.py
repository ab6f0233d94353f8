"""Compare training with sentence-transformers: pairs per second, share of the machine's peak and numerical accuracy.

    python -m benchmarks.training_speed
    python -m benchmarks.training_speed PAIRS.parquet --encoder base --batch-sizes 32
    python -m benchmarks.training_speed --encoder base --entities 1000000 --batch-sizes 256   # a GPU
    python -m benchmarks.training_speed --tables speed --ways ours bf16                       # bf16 on a CPU

Both libraries train SimCSE (equation 3) and EASE (equations 2 and 3, with one hard negative) with the same encoder,
sentences, batch size and precision; sentences are truncated to 32 tokens. The entity table of the baseline has a row-
sparse optimiser too. Without a file of pairs, the sentences with links of the dumps below `EASE_TEST_DATA` are used, or
generated sentences. Further tables compare a step of EASE+ with one of EASE, and the losses with those of a plain loop,
and show where a step goes on a GPU. A training ends when it has been measured for `--seconds` after its warm-up; its
speed is the median of its steps, on a GPU of windows of fifty steps. Rounds alternate between the trainers. The tables
show median speeds, and the median of the ratios within a round. Times are CPU time on a CPU, which other programs may
use too, and wall-clock time on a GPU.
"""

from __future__ import annotations

import argparse
import gc
import logging
import math
import platform
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sentence_transformers
import torch
import transformers
from numpy.typing import NDArray
from torch.profiler import ProfilerActivity, profile

from benchmarks.common import command_line_parser, print_head, print_row
from benchmarks.training_peers import (
    MAX_TOKENS,
    Work,
    our_curve,
    our_job,
    plain_curve,
    prepare,
    read_sentences,
    read_work,
    train_peer,
)
from ease.methods.components.entity_table import EntityTable
from ease.training.accelerator import accelerated
from ease.training.job import build_model, prepare_rows
from ease.training.loop import train_model
from ease.training.options import TrainingJob
from ease.training.prepared_pairs import ENTITY_COLUMNS, FURTHER, SUBJECT, Layout

TABLES = ("speed", "costs", "curves", "profile")
PEER = "sentence-transformers"
HALF = "bf16"
"""A way in half precision on a CPU, where all others have single precision"""
WINDOW = 50
"""Steps of a GPU that are timed together, since the host does not wait for each"""
PROFILED = 20
"""Steps of a profile"""
BATCHES = 64
"""Batches for which the sentences suffice without a repetition; preparing more would take longer than measuring"""
STEPS = 1_000_000
"""More than a training is measured for"""

Training = Callable[[Callable[[int], None]], None]
"""Trains until its argument, which it calls with steps, raises `Enough`"""

WAYS: dict[str, dict[str, Any]] = {
    "ours": {},
    "packed": {"packed": True, "graphs": False},
    "padded": {"packed": False, "graphs": False},
    "compiled": {"compiled": True},
    "undetermined": {"deterministic": False},
    "without oneDNN": {"onednn": False},
    "dense table": {"entity_optimizer": "dense"},
    HALF: {"precision": "bf16"},
}
"""Parameters of the EASE trainer by the name of `--ways`"""
WAYS_OF_A_CPU = ("ours", "packed", "without oneDNN")
WAYS_OF_A_GPU = ("ours", "compiled", "packed", "padded")


class Enough(Exception):
    """A training has been measured for long enough."""


class Speed(NamedTuple):
    """Pairs per second, and the peak memory of a GPU in GiB."""

    rate: float
    gigabytes: float = math.nan


@dataclass
class Setup:
    """Settings shared by all trainings of a run."""

    work: Work
    entities: int
    """Size of the entity table, over which the entities of the pairs are spread"""
    device: str
    half: bool
    threads: int
    warmup: int
    seconds: float
    ways: Sequence[str]
    peer: bool
    """Whether sentence-transformers trains, too; otherwise ratios are to the first way"""
    rows: dict[tuple[Layout, bool], NDArray[np.void]] = field(default_factory=dict)
    """Prepared pairs, which are made once, without and with entities"""

    @property
    def window(self) -> int:
        """Steps that are timed together."""
        return 1 if self.device == "cpu" else WINDOW

    @property
    def options(self) -> dict[str, Any]:
        """Training parameters of the EASE trainer."""
        return {
            "device": "cpu" if self.device == "cpu" else "auto",
            "precision": "bf16" if self.half else "fp32",
            "threads": self.threads,
        }

    def now(self) -> float:
        """Return seconds: CPU time of this process on a CPU, wall-clock time after synchronisation on a GPU."""
        if self.device == "cpu":
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()

    def measure(self, train: Training, batch_size: int) -> Speed:
        """Return the speed of `train` after the warm-up; it reports steps, not necessarily all, to its argument."""
        marks: list[tuple[int, float]] = []

        def mark(step: int) -> None:
            if step >= (marks[-1][0] + self.window if marks else self.warmup):
                marks.append((step, self.now()))
                if len(marks) > 1 and marks[-1][1] - marks[0][1] >= self.seconds:
                    raise Enough

        on_gpu = self.device != "cpu"
        if on_gpu:
            gc.collect()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        with suppress(Enough):
            train(mark)
        seconds = statistics.median((end - start) / (last - first) for (first, start), (last, end) in pairwise(marks))
        return Speed(batch_size / seconds, torch.cuda.max_memory_allocated() / 2**30 if on_gpu else math.nan)


def train_ours(
    setup: Setup, method: str, batch_size: int, training: dict[str, Any], mark: Callable[[int], None], **options: Any
) -> None:
    """Train with the EASE trainer until `mark`, which is called with steps, raises `Enough`."""
    with tempfile.TemporaryDirectory() as folder:
        training = {
            **setup.options,
            "batch_size": batch_size,
            "max_steps": STEPS,
            "checkpoint_seconds": 86_400,  # none, as of the peer
            **training,
        }
        job = our_job(setup.work.folder, Path(folder), method, **training)
        job = TrainingJob.model_validate({**job.model_dump(), "method_options": options})
        model = build_model(job)
        with accelerated(model.execution) as accelerator:
            key = model.layout(MAX_TOKENS), model.method.table is not None
            if key not in setup.rows:
                rows = np.array(prepare_rows(job, model, "speed", accelerator))
                for name in {*ENTITY_COLUMNS, FURTHER, SUBJECT} & set(rows.dtype.names or ()):
                    rows[name] *= setup.entities // setup.work.entities
                setup.rows[key] = rows
            if model.method.table is not None:
                table = torch.randn(setup.entities, setup.work.dimension, device=accelerator.device)
                model.method.table = EntityTable(table)
            train_model(
                model,
                setup.rows[key],
                job.training,
                accelerator,
                Path(folder),
                "speed",
                report=lambda step, _: mark(step),
            )


def matrix_peak(setup: Setup, attempts: int = 5) -> float:
    """Return the operations per second of a large matrix product in the precision of the training."""
    size, warm_up = (2048, 0.0) if setup.device == "cpu" else (8192, 1.0)
    values = torch.randn(size, size, device=setup.device, dtype=torch.bfloat16 if setup.half else torch.float32)
    values @ values
    began = time.perf_counter()
    seconds: list[float] = []
    # An idle GPU reaches its clock rate after a while.
    while len(seconds) < attempts or time.perf_counter() - began < warm_up:
        started = setup.now()
        values @ values
        seconds.append(setup.now() - started)
    return 2 * size**3 / min(seconds)


def in_turn(
    setup: Setup, trainings: dict[str, tuple[Training, int]], rounds: int
) -> Iterator[tuple[str, Speed, float]]:
    """Yield each training's name, median speed and median ratio to the first; a training has a batch size.

    Rounds alternate between the trainings, so the last round yields them.
    """
    speeds: dict[str, list[Speed]] = {name: [] for name in trainings}
    first = next(iter(speeds.values()))
    for place in range(rounds):
        for name, (training, batch_size) in trainings.items():
            method_speeds = speeds[name]
            method_speeds.append(setup.measure(training, batch_size))
            print(f"{name}, round {place + 1}: {method_speeds[-1].rate:,.4g} pairs/s", file=sys.stderr)
            if place == rounds - 1:
                rate = statistics.median(speed.rate for speed in method_speeds)
                ratios = (ours.rate / theirs.rate for ours, theirs in zip(method_speeds, first, strict=True))
                yield name, Speed(rate, method_speeds[0].gigabytes), statistics.median(ratios)


def speed_table(setup: Setup, methods: Sequence[str], batch_sizes: Sequence[int], rounds: int) -> None:
    """Print a row for each method, batch size and trainer."""
    peak = matrix_peak(setup)
    print(f"Matrix peak: {peak / 1e9:,.0f} GFLOP/s\n")
    print_head("method", "trainer", "batch", "pairs/s", "ratio", "of the peak", "GiB", texts=2)
    work, device, half, entities = setup.work.folder, setup.device, setup.half, setup.entities
    for method, size in product(methods, batch_sizes):
        trainings: dict[str, tuple[Training, int]] = {}
        if setup.peer:
            trainings[PEER] = partial(train_peer, work, method, size, STEPS, device, half, entities), size
            if HALF in setup.ways and not half:
                name = f"{PEER}, {HALF}"
                trainings[name] = partial(train_peer, work, method, size, STEPS, device, True, entities), size
        for way in setup.ways:
            trainings[way] = partial(train_ours, setup, method, size, WAYS[way]), size
        for name, (rate, gigabytes), ratio in in_turn(setup, trainings, rounds):
            share = rate * setup.work.flops_of_a_pair / peak
            memory = "" if math.isnan(gigabytes) else f"{gigabytes:.1f}"
            print_row(method, name, size, f"{rate:,.4g}", f"{ratio:.2f}", f"{share:.0%}", memory)


KINDS = {
    "matrix products": r"gemm|nvjet|cublas|splitK",
    "attention": r"fmha|attention|flash",
    "fused by the compiler": r"^triton_",
    "layer norms": r"layer_norm|LayerNorm|GammaBeta",
    "optimizers, clipping, casts of weights": r"adam|_step_row|multi_tensor_apply",
    "dropout": r"dropout",
    "copies and casts": r"copy|Memcpy|Memset|FillFunctor",
    "others": "",
}
"""Kinds of kernels by a part of their names, the first that fits"""


def profile_table(setup: Setup, methods: Sequence[str], batch_size: int) -> None:
    """Print the milliseconds of a step's kernels by kind, and the share of the time in which none runs.

    On a CPU, they are operations.
    """
    activity, spent = ProfilerActivity.CUDA, "self_device_time_total"
    if setup.device == "cpu":
        activity, spent = ProfilerActivity.CPU, "self_cpu_time_total"
    for method, way in product(methods, setup.ways):
        marks: list[tuple[int, float]] = []
        profiler = profile(activities=[activity])

        def mark(step: int, marks: Any = marks, profiler: Any = profiler) -> None:
            if step >= (marks[-1][0] + PROFILED if marks else setup.warmup):
                marks.append((step, setup.now()))
                if len(marks) == 2:  # the first window is timed without the profiler, which slows the host
                    profiler.start()
                if len(marks) == 3:
                    profiler.stop()
                    raise Enough

        with suppress(Enough):
            train_ours(setup, method, batch_size, WAYS[way], mark)
        (first, began), (second, ended), (third, _) = marks
        wall = (ended - began) / (second - first)
        kernels = dict.fromkeys(KINDS, 0.0)
        for event in profiler.key_averages():
            kind = next(kind for kind, pattern in KINDS.items() if re.search(pattern, event.key))
            kernels[kind] += getattr(event, spent) / 1e6 / (third - second)
        busy = sum(kernels.values())
        print(f"\n{method}, {way}: {1000 * wall:.1f} ms a step; idle {max(0.0, 1 - busy / wall):.0%}\n")
        print_head("kernels", "ms")
        for kind, seconds in sorted(kernels.items(), key=lambda item: -item[1]):
            print_row(kind, f"{1000 * seconds:.2f}")


def cost_table(setup: Setup, batch_size: int, rounds: int) -> None:
    """Print the seconds of a step of EASE and of EASE+, whose sentences have 4 entities each.

    EASE+ encodes a sentence once: twice as many pairs are as many encodings as EASE's.
    """
    options = {
        "EASE": ("ease", batch_size, True),
        "EASE+ with SimCSE's loss": ("ease_plus", batch_size, True),
        "EASE+": ("ease_plus", batch_size, False),
        "EASE+, twice the pairs": ("ease_plus", 2 * batch_size, False),
    }
    trainings: dict[str, tuple[Training, int]] = {
        name: (partial(train_ours, setup, method, pairs, {}, self_supervised=views), pairs)
        for name, (method, pairs, views) in options.items()
    }
    print()
    print_head("method", "pairs", "seconds per step", "ratio")
    for name, (rate, _), ratio in in_turn(setup, trainings, rounds):
        pairs = options[name][1]
        print_row(name, pairs, f"{pairs / rate:.4g}", f"{pairs / batch_size / ratio:.2f}")


def curve_table(setup: Setup, methods: Sequence[str], batch_size: int, steps: int) -> None:
    """Print the differences from the losses of a plain single-precision loop, without dropout."""
    print(f"\nLosses compared with a plain single-precision loop: {steps} steps of {batch_size} pairs\n")
    print_head("method", "trainer", "maximum difference", "mean difference", texts=2)
    folder = setup.work.folder
    for method in methods:
        plain = partial(plain_curve, folder, method, batch_size, steps, setup.device)
        expected = plain(half=False)
        training = {**setup.options, "batch_size": batch_size, "max_steps": steps}
        curves = {
            f"{name}, {training['precision']}": partial(our_curve, folder, method, **{**training, **WAYS[name]})
            for name in setup.ways
            if name != HALF
        }
        for name, curve in {**curves, "plain loop, bf16": partial(plain, half=True)}.items():
            gaps = np.abs(curve() - expected)
            print_row(method, name, f"{gaps.max():.1e}", f"{gaps.mean():.1e}")


def arguments_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = command_line_parser(__doc__)
    parser.add_argument("pairs", type=Path, nargs="?", help="Parquet with a column `sentence`")
    parser.add_argument("--inputs", type=Path, help="folder of pairs and encoder, which are made once")
    parser.add_argument("--encoder", default="small", help="small, base, a folder or a Hugging Face name")
    parser.add_argument("--methods", nargs="*", default=["simcse", "ease"], choices=["simcse", "ease"])
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[128])
    parser.add_argument("--entities", type=int, default=20_000, help="number of entities")
    parser.add_argument("--warmup", type=int, default=5, help="unmeasured steps before the measured ones")
    parser.add_argument("--seconds", type=float, default=10, help="time of a training after its warm-up")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=TABLES[:3], help="none: only make inputs")
    parser.add_argument("--curve-steps", type=int, default=100, help="steps of the compared losses")
    parser.add_argument("--curve-batch-size", type=int, default=32)
    parser.add_argument("--ways", nargs="+", choices=WAYS, help="ways of the EASE trainer")
    parser.add_argument("--no-peer", action="store_true", help="do not train with sentence-transformers")
    parser.add_argument("--device", choices=["auto", "cpu"], default="auto")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    return parser.parse_args(arguments)


def main(command_line: Sequence[str] | None = None) -> None:
    """Parse the arguments, measure and print Markdown tables."""
    arguments = arguments_of(command_line)
    logging.disable(logging.WARNING)
    torch.set_num_threads(arguments.threads)
    device = "cuda" if arguments.device == "auto" and torch.cuda.is_available() else "cpu"
    half = device == "cuda"
    machine = torch.cuda.get_device_name() if device == "cuda" else f"{arguments.threads} thread(s) of a CPU"
    libraries = (torch, transformers, sentence_transformers)
    versions = ", ".join(f"{library.__name__} {library.__version__}" for library in libraries)
    print(f"{machine}; {'bf16' if half else 'fp32'}; {versions}; Python {platform.python_version()}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.inputs or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        work = read_work(folder)
        if work is None:
            sentences, source = read_sentences(arguments.pairs)
            sentence_count = BATCHES * max(*arguments.batch_sizes, arguments.curve_batch_size)
            sentence_count = max(sentence_count, arguments.entities // 2)
            # From all of the file, whose languages may follow each other
            work = prepare(
                folder, sentences[:: max(1, len(sentences) // sentence_count)], arguments.encoder, arguments.entities
            )
            print(f"Sentences from {source}")
        size = max(arguments.entities, work.entities)
        print(
            f"{work.sentences:,} sentences of {work.mean_tokens:.1f} tokens. Encoder: {arguments.encoder}, "
            f"{work.parameters:,} parameters without embeddings. {size:,} entities of {work.dimension} dimensions.",
            flush=True,
        )
        ways = arguments.ways or (WAYS_OF_A_CPU if device == "cpu" else WAYS_OF_A_GPU)
        setup = Setup(
            *(work, size, device, half, arguments.threads, arguments.warmup, arguments.seconds, ways),
            peer=not arguments.no_peer,
        )
        if "speed" in arguments.tables:
            speed_table(setup, arguments.methods, arguments.batch_sizes, arguments.rounds)
        if "costs" in arguments.tables:
            cost_table(setup, arguments.batch_sizes[0], arguments.rounds)
        if "profile" in arguments.tables:
            profile_table(setup, arguments.methods, arguments.batch_sizes[0])
        if "curves" in arguments.tables:
            curve_table(setup, arguments.methods, arguments.curve_batch_size, arguments.curve_steps)


if __name__ == "__main__":
    main(sys.argv[1:])
