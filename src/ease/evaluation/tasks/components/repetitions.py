"""Scores of computations that are repeated with several seeds."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Annotated

from pydantic import AfterValidator, Field

from ease.errors import EaseError
from ease.evaluation.items import Items
from ease.evaluation.tasks import Score


def _distinct(seeds: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(seeds)) < len(seeds):
        raise EaseError(f"The seeds {', '.join(map(str, seeds))} repeat: give each seed once.")
    return seeds


Seeds = Annotated[
    tuple[Annotated[int, Field(ge=0, lt=2**32)], ...], Field(min_length=1), AfterValidator(_distinct)
]
"""Seeds of independent runs, whose scores are averaged."""


def repeated_score(
    task: str,
    subset: str,
    metric: str,
    values: Sequence[float],
    note: str = "",
    items: Items | None = None,
) -> Score:
    """Mean, in points, of a score of 0 to 1 over runs, with the sample standard deviation if there are several.

    `items` are the means, over the runs, of each item's contribution.
    """
    points = [100 * value for value in values]
    deviation = stdev(points) if len(points) > 1 else None
    return Score(task, subset, metric, fmean(points), deviation=deviation, note=note, items=items)
