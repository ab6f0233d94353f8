"""Measure the entity side of a training step, and its memory, by the table's size, optimizer and type of moments.

    python -m benchmarks.entity_table
    python -m benchmarks.entity_table --entities 1000000 10000000 --batch-size 256   # on a GPU of 80 GB

A step looks up the entities of a batch, computes EASE's loss, and updates the rows that it read. Each row of the table
is measured in a new process, without a GPU. Peak memory is that of the GPU if there is one, else of the process.
"""

from __future__ import annotations

import statistics
import time
from itertools import product

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from benchmarks.common import command_line_parser, measured_alone, peak_megabytes, print_head, print_row
from ease.methods.base import TOTAL, Entities, Inputs
from ease.methods.ease import Ease, EaseOptions
from ease.training.accelerator import accelerated
from ease.training.execution import Execution, uses_gpu
from ease.training.model import TrainingModel
from ease.training.optimizers import Optimizers
from ease.training.options import TrainingOptions

WARM_UP = 30
"""Steps before the measured ones; in them, a small table's rows get moments"""


def step_seconds(options: TrainingOptions, entities: int, dimension: int, steps: int = 20) -> list[float]:
    """Return the seconds of each step: lookup, projection, loss, gradient and optimiser of the table."""
    generator = torch.Generator().manual_seed(0)
    with accelerated(Execution(device="cuda" if uses_gpu(options) else "cpu")) as accelerator:
        device = accelerator.device
        method = Ease(EaseOptions(self_supervised=False), dimension, torch.rand(entities, dimension, device=device))
        empty = SentenceTransformer(modules=[torch.nn.Identity()], device="cpu")
        optimizers = Optimizers(TrainingModel(empty, torch.nn.Identity(), method).to(device), options)
        marks = []
        for _ in range(WARM_UP + steps + 1):
            if device.type == "cuda":
                torch.cuda.synchronize()
            marks.append(time.perf_counter() if device.type == "cuda" else time.process_time())
            rows = torch.randint(entities, (2, options.batch_size), generator=generator)
            distinct_rows = np.unique(rows)
            positives, negatives = rows.to(device)
            sentences = torch.randn(1, options.batch_size, dimension, device=device, requires_grad=True)
            present = torch.ones(1, options.batch_size, dtype=torch.bool, device=device)
            batch_entities = Entities(positives, negatives, distinct_rows=distinct_rows)
            method(Inputs(sentences, present, batch_entities))[TOTAL].backward()
            optimizers.step()
    return list(np.diff(marks[WARM_UP:]))


def measure(options: TrainingOptions, entities: int, dimension: int) -> tuple[float, float]:
    """Return the milliseconds of a step in this process and its peak memory in MiB."""
    seconds = step_seconds(options, entities, dimension)
    peak = peak_megabytes()
    if torch.cuda.is_available():
        peak = torch.cuda.max_memory_allocated() / 2**20
    return 1000 * statistics.median(seconds), peak


def main() -> None:
    """Parse the arguments, measure and print a Markdown table."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--entities", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--dimension", type=int, default=768)
    parser.add_argument("--batch-size", type=int, default=256)
    settings = parser.parse_args()
    print_head("optimizer", "moments", "entities", "milliseconds per step", "peak MB", texts=2)
    for entities, moments, optimizer in product(settings.entities, ("fp32", "bf16"), ("lazy", "dense")):
        options = TrainingOptions.model_validate(
            {"batch_size": settings.batch_size, "entity_moments": moments, "entity_optimizer": optimizer}
        )
        milliseconds, peak = measured_alone(measure, options, entities, settings.dimension)
        print_row(optimizer, moments, f"{entities:,}", f"{milliseconds:.2f}", f"{peak:,.0f}")


if __name__ == "__main__":
    main()
