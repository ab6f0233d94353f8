"""Scatter plots of two published tables: one point per model, its means over the columns that our models have."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

import pandas as pd
from pydantic import Field

from ease.errors import EaseError
from ease.io.models import StrictModel
from ease.reporting.own import OwnModel
from ease.reporting.published import Paper, Published, Source


class Scatter(StrictModel):
    """Two tables of a paper to plot against each other."""

    paper: str
    title: str
    x: str = Field(description="number of the table of the horizontal axis")
    y: str = Field(description="number of the table of the vertical axis")


class ReportOptions(StrictModel):
    """Figures of the report beside the tables' own."""

    scatters: tuple[Scatter, ...] = ()


class Points(NamedTuple):
    """Columns `label`, `kind` (published or own), `method`, `x`, `y`; titles of figure and axes."""

    title: str
    points: pd.DataFrame
    x_title: str
    y_title: str


def build_scatters(options: ReportOptions, published: Published, own: Sequence[OwnModel]) -> list[Points]:
    """Return the points of each pair of tables for which one of our models has scores on both.

    Raises:
        EaseError: If a paper or table that the parameters name does not exist.
    """
    return [points for scatter in options.scatters if (points := _points(scatter, published, own))]


def _points(scatter: Scatter, published: Published, own: Sequence[OwnModel]) -> Points | None:
    paper = published.root.get(scatter.paper)
    if paper is None or not {scatter.x, scatter.y} <= paper.tables.keys():
        raise EaseError(
            f"`report.scatters` names the tables {scatter.x} and {scatter.y} of {scatter.paper!r}; "
            f"published are {published}."
        )
    numbers = (scatter.x, scatter.y)
    single = [[column.header for column in paper.tables[number].columns if column.task] for number in numbers]
    axes = [
        {header: paper.sources(number, header)[0] for header in headers}
        for number, headers in zip(numbers, single, strict=True)
    ]
    scored = [m for m in own if all(any(_has(m, source) for source in axis.values()) for axis in axes)]
    # Means must be over the same columns, so a column without a score of one of our models is dropped for all.
    shared = [
        {header: source for header, source in axis.items() if all(_has(model, source) for model in scored)}
        for axis in axes
    ]
    if not scored or not all(shared):
        return None
    rows = [
        {
            "label": name,
            "kind": "published",
            "method": paper.models[name].method or "",
            **dict(zip("xy", means, strict=True)),
        }
        for name in paper.tables[scatter.x].rows
        if None not in (means := _published_means(paper, name, numbers, shared))
    ]
    for model in scored:
        x, y = (model.measure(list(axis.values())).mean for axis in shared)
        rows.append({"label": model.label, "kind": "own", "method": model.method, "x": x, "y": y})
    titles = []
    for number, axis, whole in zip(numbers, shared, axes, strict=True):
        every = len(axis) == len(whole)
        over = f"all {len(whole)}" if every else f"{len(axis)} of {len(whole)}: {', '.join(axis)}"
        titles.append(f"Table {number}: {paper.tables[number].score}<br>mean over {over}")
    return Points(scatter.title, pd.DataFrame(rows), *titles)


def _has(model: OwnModel, source: Source) -> bool:
    return model.measure([source]).mean is not None


def _published_means(
    paper: Paper, model: str, numbers: Sequence[str], shared: Sequence[dict[str, Source]]
) -> list[float | None]:
    """Return a published model's mean over the shared columns of each table, if the paper gives all scores."""
    means: list[float | None] = []
    for number, axis in zip(numbers, shared, strict=True):
        table = paper.tables[number]
        figures = [table.figure(model, header) if model in table.rows else None for header in axis]
        means.append(None if None in figures else fmean(figure for figure in figures if figure is not None))
    return means
