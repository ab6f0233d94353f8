"""Compare training with sentence-transformers: pairs per second, share of the machine's peak and numerical accuracy.

    python -m benchmarks.training_speed
    python -m benchmarks.training_speed PAIRS.parquet --encoder base --batch-sizes 32
    python -m benchmarks.training_speed --encoder base --entities 1000000 --batch-sizes 256   # a GPU

Both libraries train SimCSE (equation 3) and EASE (equations 2 and 3, with one hard negative) with the same encoder,
sentences, batch size and precision; sentences are truncated to 32 tokens. The entity table of the baseline has a
row-sparse optimiser too. Without a file of pairs, the sentences with links of the dumps below `EASE_TEST_DATA` are
used, or generated sentences. One more table compares a step of EASE+ with one of EASE, and on a GPU one shows where a
step goes. A training ends when it has been measured for `--seconds`; its speed is the median of windows of a few steps.
Rounds alternate between the trainers. The tables show median speeds, and the median of the ratios within a round. Times
are CPU time on a CPU, which other programs may use too, and wall-clock time on a GPU.
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
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sentence_transformers
import torch
import transformers
from numpy.typing import NDArray
from torch.profiler import ProfilerActivity, profile

from benchmarks.command_line import command_line_parser
from benchmarks.entity_table import step_seconds
from benchmarks.training_curve import differences, our_curve, our_job, plain_curve
from benchmarks.training_data import MAX_TOKENS, Work, prepare, read_sentences, read_work
from benchmarks.training_peer import train_peer
from ease.methods.components.entity_table import EntityTable
from ease.training.accelerator import accelerated
from ease.training.job import build_model
from ease.training.job import prepare as prepare_rows
from ease.training.loop import train
from ease.training.options import TrainingJob, TrainingOptions
from ease.training.prepared_pairs import Layout

TABLES = ("speed", "costs", "curves", "profile")
PEER = "sentence-transformers"
WINDOW = 10
"""Steps that are timed together"""
PROFILED = 20
"""Steps of a profile"""

WAYS: dict[str, dict[str, Any]] = {
    "ours": {},
    "packed": {"packed": True, "graphs": False},
    "padded": {"packed": False, "graphs": False},
    "compiled": {"compiled": True},
    "packed and compiled": {"packed": True, "graphs": False, "compiled": True},
    "host": {"entity_memory": "host"},
    "undetermined": {"deterministic": False},
    "without oneDNN": {"onednn": False},
    "packed, without oneDNN": {"packed": True, "onednn": False},
}
"""Parameters of the EASE trainer by the name of `--ways`"""
WAYS_OF_A_CPU = ("ours", "packed", "without oneDNN", "packed, without oneDNN")
WAYS_OF_A_GPU = ("ours", "compiled", "packed", "padded")


class Enough(Exception):
    """A training has been measured for long enough."""


class Way(NamedTuple):
    """The speed of a trainer."""

    rate: float
    """Pairs per second"""
    gigabytes: float = math.nan
    """Peak memory of a GPU, in GiB"""


class Setup(NamedTuple):
    """Settings shared by all trainings of a run."""

    work: Work
    entities: int
    """Size of the entity table, over which the entities of the pairs are spread"""
    device: str
    half: bool
    threads: int | None
    warmup: int
    seconds: float
    ways: Sequence[str]
    peer: bool
    """Whether sentence-transformers trains, too; otherwise ratios are to the first way"""
    rows: dict[tuple[Layout, bool], NDArray[np.void]]
    """Prepared pairs, which are made once, without and with entities"""

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

    def rate(self, train: Callable[[Callable[[int], None]], None], batch_size: int) -> Way:
        """Run `train` and return its speed after the warm-up; `train` reports steps to its argument."""
        marks: list[float] = []

        def mark(step: int) -> None:
            if step >= self.warmup and (step - self.warmup) % WINDOW == 0:
                marks.append(self.now())
                if len(marks) > 1 and marks[-1] - marks[0] > self.seconds:
                    raise Enough

        on_gpu = self.device != "cpu"
        if on_gpu:
            gc.collect()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        with suppress(Enough):
            train(mark)
        rate = WINDOW * batch_size / statistics.median(np.diff(marks))
        return Way(rate, torch.cuda.max_memory_allocated() / 2**30 if on_gpu else math.nan)


def train_ours(
    setup: Setup,
    method: str,
    batch_size: int,
    training: dict[str, Any],
    mark: Callable[[int], None],
    **options: Any,
) -> None:
    """Train with the EASE trainer until `mark`, which is called with steps, raises `Enough`."""
    with tempfile.TemporaryDirectory() as folder:
        training = {
            **setup.options,
            "batch_size": batch_size,
            "max_steps": 1_000_000,
            "report_every": WINDOW,
            "checkpoint_seconds": 86_400,  # none, as of the peer
            **training,
        }
        job = our_job(setup.work.folder, Path(folder), method, **training)
        job = TrainingJob.model_validate({**job.model_dump(), "method_options": options})
        with accelerated(job.training) as accelerator:
            model = build_model(job)
            layout, has_table = model.layout(MAX_TOKENS), model.method.table is not None
            if (layout, has_table) not in setup.rows:
                rows = np.array(prepare_rows(job, model, "speed", accelerator))
                for name in set(rows.dtype.names or ()) & set(layout.entity_columns):
                    rows[name] *= setup.entities // setup.work.entities
                setup.rows[layout, has_table] = rows
            if has_table:
                table = torch.randn(setup.entities, setup.work.dimension, device=accelerator.device)
                model.method.table = EntityTable(table)
                if job.training.entity_memory == "host":
                    model.method.table = EntityTable(table.cpu())
                    model.method.table.stay_on_host()
            rows = setup.rows[layout, has_table]
            train(
                model,
                rows,
                job.training,
                accelerator,
                Path(folder),
                "speed",
                report=lambda step, _: mark(step),
            )


WARM_UP_SECONDS = 1.0
"""Time of matrix products on a GPU, the fastest of which is the peak."""


def compare(setup: Setup, method: str, batch_size: int, rounds: int) -> dict[str, list[Way]]:
    """Return the speed of each trainer, one value per round."""
    limit = 1_000_000
    work, device, half, entities = setup.work.folder, setup.device, setup.half, setup.entities
    trainers = {
        **(
            {PEER: partial(train_peer, work, method, batch_size, limit, device, half, entities)}
            if setup.peer
            else {}
        ),
        **{name: partial(train_ours, setup, method, batch_size, WAYS[name]) for name in setup.ways},
    }
    speeds: dict[str, list[Way]] = {name: [] for name in trainers}
    for _ in range(rounds):
        for name, trainer in trainers.items():
            speeds[name].append(setup.rate(trainer, batch_size))
    return speeds


def matrix_peak(setup: Setup, attempts: int = 5) -> float:
    """Return the operations per second of a large matrix product in the precision of the training."""
    size = 2048 if setup.device == "cpu" else 8192
    values = torch.randn(
        size, size, device=setup.device, dtype=torch.bfloat16 if setup.half else torch.float32
    )
    values @ values
    began = time.perf_counter()
    seconds: list[float] = []
    # An idle GPU reaches its clock rate after a while.
    while len(seconds) < attempts or (
        setup.device != "cpu" and time.perf_counter() - began < WARM_UP_SECONDS
    ):
        started = setup.now()
        values @ values
        seconds.append(setup.now() - started)
    return 2 * size**3 / min(seconds)


def _entity_seconds(setup: Setup, batch_size: int) -> float:
    """Return the seconds of a step's entity side."""
    options = TrainingOptions(batch_size=batch_size, **setup.options)
    return statistics.median(step_seconds(options, setup.work.entities, setup.work.dimension))


def entity_share(batch_size: int, rate: float, seconds: float | None, simcse: float | None) -> str:
    """Return the share of the entity side in a step of EASE; empty if neither of the last two is known.

    A GPU overlaps the small operations with others, so that their time alone says little. There the share is what a
    step of EASE takes longer than one of SimCSE, whose encodings are the same.

    Args:
        batch_size: Pairs of a step.
        rate: Pairs per second of EASE.
        seconds: Of the entity side alone, on a CPU.
        simcse: Pairs per second of SimCSE.
    """
    if seconds is not None:
        return f"{seconds * rate / batch_size:.1%}"
    return "" if simcse is None else f"{1 - rate / simcse:.1%}"


def speed_table(setup: Setup, methods: Sequence[str], batch_sizes: Sequence[int], rounds: int) -> None:
    """Print a row for each method, batch size and trainer, with the share of the entity side in EASE's steps."""
    peak = matrix_peak(setup)
    print(f"Matrix peak: {peak / 1e9:,.0f} GFLOP/s\n")
    heads = ["method", "batch", "trainer", "pairs/s", "ratio", "of the peak", "entity side", "GiB"]
    print(f"| {' | '.join(heads)} |\n| --- | ---: | --- |{' ---: |' * 5}")
    simcse: dict[tuple[int, str], float] = {}
    for method in methods:
        for batch_size in batch_sizes:
            speeds = compare(setup, method, batch_size, rounds)
            on_cpu = method == "ease" and setup.device == "cpu"
            side = _entity_seconds(setup, batch_size) if on_cpu else None
            for way, found in speeds.items():
                rate = statistics.median(one.rate for one in found)
                if method == "simcse":
                    simcse[batch_size, way] = rate
                ratio = statistics.median(
                    ours.rate / theirs.rate
                    for ours, theirs in zip(found, next(iter(speeds.values())), strict=True)
                )
                utilised = rate * setup.work.flops_of_a_pair / peak
                share = ""
                if method == "ease" and way != PEER:
                    share = entity_share(batch_size, rate, side, simcse.get((batch_size, way)))
                memory = "" if setup.device == "cpu" else f"{found[0].gigabytes:.1f}"
                cells = [
                    method, batch_size, way, f"{rate:,.4g}", f"{ratio:.2f}", f"{utilised:.0%}", share, memory
                ]  # fmt: skip
                print(f"| {' | '.join(map(str, cells))} |", flush=True)


KINDS = {
    "matrix products": r"gemm|nvjet|cublas|splitK",
    "attention": r"fmha|attention|flash",
    "fused by the compiler": r"^triton_",
    "layer norms": r"layer_norm|LayerNorm|GammaBeta",
    "optimizers": r"adam|_step_row|multi_tensor_apply",
    "dropout": r"dropout",
    "copies and casts": r"copy|Memcpy|Memset|direct_copy|FillFunctor",
}
"""Kinds of kernels by a part of their names"""


def profile_table(setup: Setup, methods: Sequence[str], batch_size: int) -> None:
    """Print where a step goes on a GPU: milliseconds of kernels by kind, and the time in which none runs."""
    for method in methods:
        for way in setup.ways:
            wall, kernels = profile_steps(setup, method, batch_size, WAYS[way])
            busy = sum(kernels.values())
            print(
                f"\n{method}, {way}: {1000 * wall:.1f} ms a step, kernels {1000 * busy:.1f} ms "
                f"({max(0.0, 1 - busy / wall):.0%} of the time none runs)\n\n| kernels | ms |\n| --- | ---: |"
            )
            for kind, seconds in sorted(kernels.items(), key=lambda item: -item[1]):
                print(f"| {kind} | {1000 * seconds:.2f} |", flush=True)


def profile_steps(
    setup: Setup, method: str, batch_size: int, training: dict[str, Any]
) -> tuple[float, dict[str, float]]:
    """Return the seconds of a step, measured before the profile, and the seconds of its kernels by kind."""
    marks: list[float] = []
    profiler = profile(activities=[ProfilerActivity.CUDA])

    def mark(step: int) -> None:
        if step in (setup.warmup, setup.warmup + PROFILED):
            marks.append(setup.now())
        if step == setup.warmup + PROFILED:
            profiler.start()
        if step == setup.warmup + 2 * PROFILED:
            torch.cuda.synchronize()
            profiler.stop()
            raise Enough

    with suppress(Enough):
        train_ours(setup, method, batch_size, training, mark)
    kernels: dict[str, float] = {}
    for event in profiler.key_averages():
        kinds = (kind for kind, pattern in KINDS.items() if re.search(pattern, event.key))
        kind = next(kinds, "others")
        kernels[kind] = kernels.get(kind, 0.0) + event.self_device_time_total / 1e6 / PROFILED
    return (marks[1] - marks[0]) / PROFILED, kernels


def cost_table(setup: Setup, batch_size: int, rounds: int) -> None:
    """Print the seconds of a step of EASE and of EASE+, whose sentences have 4 entities each.

    EASE+ encodes a sentence once: twice as many pairs are as many encodings as EASE's.
    """
    options: dict[str, tuple[str, int, bool]] = {
        "EASE": ("ease", batch_size, True),
        "EASE+ with SimCSE's loss": ("ease_plus", batch_size, True),
        "EASE+": ("ease_plus", batch_size, False),
        "EASE+, twice the pairs": ("ease_plus", 2 * batch_size, False),
    }
    seconds: dict[str, list[float]] = {name: [] for name in options}
    for _ in range(rounds):
        for name, (method, pairs, views) in options.items():
            way = partial(train_ours, setup, method, pairs, {}, self_supervised=views)
            seconds[name].append(pairs / setup.rate(way, pairs).rate)
    print("\n| method | pairs | seconds per step | ratio |\n| --- | ---: | ---: | ---: |")
    for name, found in seconds.items():
        ratio = statistics.median(one / ease for one, ease in zip(found, seconds["EASE"], strict=True))
        print(f"| {name} | {options[name][1]} | {statistics.median(found):.4g} | {ratio:.2f} |", flush=True)


def curve_table(setup: Setup, methods: Sequence[str], batch_size: int, steps: int) -> None:
    """Print the differences from the losses of a plain single-precision loop, without dropout."""
    print(f"\nLosses compared with a plain single-precision loop: {steps} steps of {batch_size} pairs\n")
    print("| method | trainer | maximum difference | mean difference |\n| --- | --- | ---: | ---: |")
    folder = setup.work.folder
    for method in methods:
        plain = partial(plain_curve, folder, method, batch_size, steps, setup.device)
        expected = plain(half=False)
        ours = {**setup.options, "batch_size": batch_size, "max_steps": steps}
        precision = "bf16" if setup.half else "fp32"
        curves = {
            **{
                f"{name}, {precision}": partial(our_curve, folder, method, **{**ours, **WAYS[name]})
                for name in setup.ways
            },
            "plain loop, bf16": partial(plain, half=True),
        }
        for name, curve in curves.items():
            print(f"| {method} | {name} | {differences(curve(), expected)} |", flush=True)


def arguments_of(given: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = command_line_parser(__doc__)
    parser.add_argument("pairs", type=Path, nargs="?", help="Parquet with a column `sentence`")
    parser.add_argument("--inputs", type=Path, help="folder of pairs and encoder, which are made once")
    parser.add_argument("--encoder", default="small", help="small, base, a folder or a Hugging Face name")
    parser.add_argument("--methods", nargs="*", default=["simcse", "ease"], choices=["simcse", "ease"])
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[128])
    parser.add_argument("--entities", type=int, default=20_000, help="number of entities")
    parser.add_argument("--warmup", type=int, default=5, help="unmeasured steps before the measured ones")
    parser.add_argument("--seconds", type=float, default=10, help="time for which a training is measured")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--tables",
        nargs="+",
        choices=TABLES,
        default=TABLES[:3],
        help="speed, the costs of a step of EASE and EASE+, the losses compared with a plain loop (default: these) and "
        "the profile of a step on a GPU",
    )
    parser.add_argument("--curve-steps", type=int, default=100, help="steps of the compared losses")
    parser.add_argument("--curve-batch-size", type=int, default=32)
    parser.add_argument("--ways", nargs="+", choices=WAYS, help="ways of the EASE trainer")
    parser.add_argument("--no-peer", action="store_true", help="do not train with sentence-transformers")
    parser.add_argument("--device", choices=["auto", "cpu"], default="auto")
    parser.add_argument("--precision", choices=["auto", "fp32", "bf16"], default="auto")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> None:
    """Parse the arguments, measure and print Markdown tables."""
    arguments = arguments_of(given)
    logging.disable(logging.WARNING)
    torch.set_num_threads(arguments.threads)
    device = "cuda" if arguments.device == "auto" and torch.cuda.is_available() else "cpu"
    half = arguments.precision == "bf16" or (arguments.precision == "auto" and device == "cuda")
    sentences, source = read_sentences(arguments.pairs)
    machine = torch.cuda.get_device_name() if device == "cuda" else f"{arguments.threads} thread(s) of a CPU"
    versions = [
        f"{library.__name__} {library.__version__}"
        for library in (torch, transformers, sentence_transformers)
    ]
    print(
        f"{machine}; {'bf16' if half else 'fp32'}; {', '.join(versions)}; Python {platform.python_version()}"
    )
    with tempfile.TemporaryDirectory() as made:
        folder = arguments.inputs or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        work = read_work(folder) or prepare(folder, sentences, arguments.encoder, arguments.entities)
        print(
            f"Sentences: {len(sentences):,} ({source}), {work.mean_tokens:.1f} tokens on average. "
            f"Encoder: {arguments.encoder}, {work.parameters:,} parameters without embeddings. "
            f"Entities: {max(arguments.entities, work.entities):,} of {work.dimension} dimensions."
        )
        size = max(arguments.entities, work.entities)
        ways = arguments.ways or (WAYS_OF_A_CPU if device == "cpu" else WAYS_OF_A_GPU)
        warmup, seconds = arguments.warmup, arguments.seconds
        setup = Setup(
            work, size, device, half, arguments.threads, warmup, seconds, ways, not arguments.no_peer, {}
        )
        if "speed" in arguments.tables:
            speed_table(setup, arguments.methods, arguments.batch_sizes, arguments.rounds)
        if "costs" in arguments.tables:
            cost_table(setup, arguments.batch_sizes[0], arguments.rounds)
        if "curves" in arguments.tables:
            curve_table(setup, arguments.methods, arguments.curve_batch_size, arguments.curve_steps)
        if "profile" in arguments.tables:
            profile_table(setup, arguments.methods, arguments.batch_sizes[0])


if __name__ == "__main__":
    main(sys.argv[1:])
