"""Compare training with sentence-transformers: pairs per second, share of the machine's peak and numerical accuracy.

    python -m benchmarks.training_speed
    python -m benchmarks.training_speed PAIRS.parquet --encoder base --batch-sizes 32 --steps 3
    python -m benchmarks.training_speed --encoder base --entities 1000000 --batch-sizes 256 --steps 200   # a GPU

Both libraries train SimCSE (equation 3) and EASE (equations 2 and 3, with one hard negative) with the same encoder,
sentences, batch size and precision; sentences are truncated to 32 tokens. The entity table of the baseline has a
row-sparse optimiser too. Without a file of pairs, the sentences with links of the dumps below `EASE_TEST_DATA` are
used, or generated sentences. One more table compares a step of EASE+ with one of EASE. Rounds alternate between the
trainers. The tables show median speeds, and the median of the ratios within a round. Times are CPU time on a CPU, which
other programs may use too, and wall-clock time on a GPU.
"""

from __future__ import annotations

import argparse
import logging
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import sentence_transformers
import torch
import transformers

from benchmarks.command_line import command_line_parser
from benchmarks.entity_table import step_seconds
from benchmarks.training_curve import differences, our_curve, our_job, plain_curve
from benchmarks.training_data import Work, prepare, read_sentences
from benchmarks.training_peer import train_peer
from ease.training.job import run_job
from ease.training.options import TrainingJob, TrainingOptions

TABLES = ("speed", "costs", "curves")
PEER = "sentence-transformers"


class Setup(NamedTuple):
    """Settings shared by all trainings of a run."""

    work: Work
    device: str
    half: bool
    threads: int | None
    warmup: int
    steps: int
    variants: Sequence[str] = ()

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

    def rate(self, train: Callable[[Callable[[int], None]], None], batch_size: int) -> float:
        """Run `train` and return its pairs per second after the warm-up; `train` reports steps to its argument."""
        marks: dict[int, float] = {}

        def mark(step: int) -> None:
            if step in (self.warmup, self.warmup + self.steps):
                marks[step] = self.now()

        train(mark)
        return self.steps * batch_size / (marks[self.warmup + self.steps] - marks[self.warmup])


def train_ours(
    setup: Setup,
    method: str,
    batch_size: int,
    training: dict[str, Any],
    mark: Callable[[int], None],
    **options: Any,
) -> None:
    """Train with the EASE trainer and the method's options, and call `mark` with each step that it reports."""
    with tempfile.TemporaryDirectory() as folder:
        training = {
            **setup.options,
            "batch_size": batch_size,
            "max_steps": setup.warmup + setup.steps,
            "report_every": setup.warmup,
            "checkpoint_seconds": 86_400,  # none, as of the peer
            **training,
        }
        job = our_job(setup.work.folder, Path(folder), method, **training)
        job = TrainingJob.model_validate({**job.model_dump(), "method_options": options})
        run_job(job, lambda step, values: mark(step))


WARM_UP_SECONDS = 1.0
"""Time of matrix products on a GPU, the fastest of which is the peak."""

VARIANTS: dict[str, dict[str, Any]] = {
    "compiled": {"compiled": True},
    "host": {"entity_memory": "host"},
    "undetermined": {"deterministic": False},
    "packed-compiled": {"packed": True, "compiled": True},
}
"""Parameters by the name of a variant of `--variants`"""


def our_ways(setup: Setup) -> dict[str, dict[str, Any]]:
    """Return the parameters of each way in which the EASE trainer is measured; on a CPU, also without oneDNN."""
    if setup.variants:
        return {"ours": {}, **{f"ours, {name}": VARIANTS[name] for name in setup.variants}}
    ways: dict[str, dict[str, Any]] = {"ours": {}, "ours, packed": {"packed": True}}
    if setup.device == "cpu":
        ways |= {f"{name}, MKL": {**training, "onednn": False} for name, training in ways.items()}
    return ways


def compare(setup: Setup, method: str, batch_size: int, rounds: int) -> dict[str, list[float]]:
    """Return the pairs per second of each trainer, one value per round."""
    steps = setup.warmup + setup.steps
    ways = {
        PEER: partial(train_peer, setup.work.folder, method, batch_size, steps, setup.device, setup.half),
        **{
            name: partial(train_ours, setup, method, batch_size, training)
            for name, training in our_ways(setup).items()
        },
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            rates[name].append(setup.rate(way, batch_size))
    return rates


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
    heads = ["method", "batch", "trainer", "pairs/s", "ratio", "of the peak", "entity side"]
    print(f"| {' | '.join(heads)} |\n| --- | ---: | --- |{' ---: |' * 4}")
    simcse: dict[tuple[int, str], float] = {}
    for method in methods:
        for batch_size in batch_sizes:
            rates = compare(setup, method, batch_size, rounds)
            on_cpu = method == "ease" and setup.device == "cpu"
            side = _entity_seconds(setup, batch_size) if on_cpu else None
            for way, found in rates.items():
                rate = statistics.median(found)
                if method == "simcse":
                    simcse[batch_size, way] = rate
                ratio = statistics.median(
                    ours / theirs for ours, theirs in zip(found, rates[PEER], strict=True)
                )
                utilised = rate * setup.work.flops_of_a_pair / peak
                share = ""
                if method == "ease" and way != PEER:
                    share = entity_share(batch_size, rate, side, simcse.get((batch_size, way)))
                cells = [method, batch_size, way, f"{rate:,.4g}", f"{ratio:.2f}", f"{utilised:.0%}", share]
                print(f"| {' | '.join(map(str, cells))} |", flush=True)


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
            seconds[name].append(pairs / setup.rate(way, pairs))
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
                f"{name}, {precision}": partial(our_curve, folder, method, **ours, **training)
                for name, training in our_ways(setup).items()
            },
            "plain loop, bf16": partial(plain, half=True),
        }
        for name, curve in curves.items():
            print(f"| {method} | {name} | {differences(curve(), expected)} |", flush=True)


def arguments_of(given: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = command_line_parser(__doc__)
    parser.add_argument("pairs", type=Path, nargs="?", help="Parquet with a column `sentence`")
    parser.add_argument("--encoder", default="small", help="small, base, a folder or a Hugging Face name")
    parser.add_argument("--methods", nargs="*", default=["simcse", "ease"], choices=["simcse", "ease"])
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[128])
    parser.add_argument("--entities", type=int, default=20_000, help="number of entities")
    parser.add_argument("--warmup", type=int, default=5, help="unmeasured steps before the measured ones")
    parser.add_argument("--steps", type=int, default=20, help="measured steps")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--tables",
        nargs="+",
        choices=TABLES,
        default=TABLES,
        help="speed, the costs of a step of EASE and EASE+, and the losses compared with a plain loop (default: all)",
    )
    parser.add_argument("--curve-steps", type=int, default=100, help="steps of the compared losses")
    parser.add_argument("--curve-batch-size", type=int, default=32)
    parser.add_argument(
        "--variants",
        nargs="+",
        choices=VARIANTS,
        default=(),
        help="instead of packed texts, measure compiled layers, an entity table in the host's memory, or "
        "algorithms that are not deterministic",
    )
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
    with tempfile.TemporaryDirectory() as folder:
        work = prepare(Path(folder), sentences, arguments.encoder, arguments.entities)
        print(
            f"Sentences: {len(sentences):,} ({source}), {work.mean_tokens:.1f} tokens on average. "
            f"Encoder: {arguments.encoder}, {work.parameters:,} parameters without embeddings. "
            f"Entities: {work.entities:,} of {work.dimension} dimensions."
        )
        setup = Setup(
            work, device, half, arguments.threads, arguments.warmup, arguments.steps, arguments.variants
        )
        if "speed" in arguments.tables:
            speed_table(setup, arguments.methods, arguments.batch_sizes, arguments.rounds)
        if "costs" in arguments.tables:
            cost_table(setup, arguments.batch_sizes[0], arguments.rounds)
        if "curves" in arguments.tables:
            curve_table(setup, arguments.methods, arguments.curve_batch_size, arguments.curve_steps)


if __name__ == "__main__":
    main(sys.argv[1:])
