"""Estimate the costs of a job's stages from sizes and measured rates."""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic import ByteSize, TypeAdapter

from ease.methods import get_method
from ease.pipelines.plan.rates import ParsingRate
from ease.pipelines.recipe import CompleteRecipe

TRAINED_BYTES = 16  # a weight, its gradient and both moments of AdamW
PARSED = 1.4
"""Bytes of parsed parts and tables for each byte of a compressed dump, as measured"""

PARSER_MEMORY = 254e6
"""Bytes of a process that parses"""

LINK_SECONDS, LINK_MEMORY = 220 / 1e8, 63.0
"""Seconds and bytes of pairs and hard negatives for each link: 220 s and 6.3 GB for 100 million on two cores"""

SAVED_BYTES = 20
"""Bytes of disk (start, checkpoint with AdamW's moments, model) for each parameter of an encoder"""

LIBRARIES = 1.5e9
"""Bytes of a training process without its encoder"""

FORWARD = 1 / 3
"""A teacher's share of the time of encoding forward and backward"""


class Cost(NamedTuple):
    """The cost of a stage; None: not estimated."""

    stage: str
    amount: str
    hours: float | None
    disk: float
    """Bytes"""
    memory: float
    """Bytes"""

    def row(self) -> dict[str, Any]:
        """Return the cost with sizes in gigabytes."""
        shown = {"stage": self.stage, "amount": self.amount, "hours": self.hours}
        return {**shown, "disk_gb": self.disk / 1e9, "memory_gb": self.memory / 1e9}


def download_cost(missing: int) -> Cost:
    """Return the cost of downloading; its time depends on the network."""
    return Cost("download", f"{missing / 1e9:.2f} GB", None if missing else 0.0, missing, 0)


def parsing_cost(total: int, rate: ParsingRate, workers: int) -> Cost:
    """Return the cost of parsing dumps of `total` compressed bytes."""
    pages = rate.of(total, rate.pages)
    hours = rate.seconds * total / max(1, rate.size) / workers / 3600
    return Cost("parse the dumps", f"{pages:,} pages", hours, PARSED * total, PARSER_MEMORY * workers)


def pairs_cost(links: int, memory_limit: str) -> Cost:
    """Return the cost of resolving links and making pairs and hard negatives.

    Args:
        links: Their number.
        memory_limit: DuckDB's, such as `4GB`; beyond it, DuckDB spills to disk.
    """
    memory = LINK_MEMORY * links
    if not memory_limit.endswith("%"):  # of the machine's memory
        memory = min(memory, TypeAdapter(ByteSize).validate_python(memory_limit))
    return Cost("pairs and hard negatives", f"{links:,} links", LINK_SECONDS * links / 3600, 0, memory)


def training_cost(
    method: str, recipe: CompleteRecipe, pairs: int, sentences_per_second: float | None, parameters: int
) -> Cost:
    """Return the cost of a training; without a measured rate, its hours are unknown."""
    training = recipe.training
    steps = training.max_steps or training.epochs * max(1, pairs // training.batch_size)
    views = getattr(get_method(method), "views", None)
    # Otherwise, it depends on the options; a method without views reads tokens, once.
    passes = float(len(views)) if isinstance(views, tuple) and views else 1.0
    if getattr(recipe.options, "self_supervised", False):
        passes = 2.0
    passes += FORWARD if training.teacher.encoder else 0.0
    encoded = steps * training.batch_size * passes
    hours = encoded / sentences_per_second / 3600 if sentences_per_second else None
    amount = f"{steps:,} steps of {training.batch_size} pairs"
    return Cost(
        f"train {method}", amount, hours, SAVED_BYTES * parameters, LIBRARIES + TRAINED_BYTES * parameters
    )
