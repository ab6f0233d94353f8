"""Published tables with our models added: best scores, differences and footnotes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pandas as pd

from ease.evaluation.resampling import holm, paired_p
from ease.evaluation.tasks import get_task
from ease.reporting.own import Cell, OwnModel, gather_models
from ease.reporting.published import Paper, Published, Source, base_name
from ease.reporting.score_summaries import main_figures

SIGNIFICANCE = 0.05  # A score of a lower corrected p-value is significantly below the best one


@dataclass(frozen=True)
class Row:
    """Scores of a model, or differences of our model from its published counterpart."""

    name: str
    label: str  # the name in figures
    kind: Literal["published", "own", "difference"]
    base: str  # name, without owner, of the encoder that training starts from; groups rows
    origin: str
    cells: tuple[Cell, ...]
    method: str = ""
    model: OwnModel | None = field(default=None, repr=False, compare=False)


@dataclass
class ComparisonTable:
    """A table of the report."""

    title: str
    score: str
    headers: tuple[str, ...]
    rows: list[Row]
    notes: list[str] = field(default_factory=list)
    footnotes: list[str] = field(default_factory=list)


def build_table(paper: Paper, number: str, own: Sequence[OwnModel]) -> ComparisonTable | None:
    """Add our models to a published table, grouped by the encoder that they start from; None if none has a score."""
    table = paper.tables[number]
    headers = tuple(column.header for column in table.columns)
    likes = {name: paper.models[name] for name in table.rows}
    fitting = [m for m in own if not table.counterparts_only or any(map(m.is_like, likes.values()))]
    shown, footnotes = _own_rows(fitting, [paper.sources(number, header) for header in headers])
    if not shown:
        return None
    published = {}
    for name, model in likes.items():
        cells, base = tuple(map(Cell, table.rows[name])), base_name(model.base)
        published[name] = Row(name, name, "published", base, "paper", cells, model.method or "")
    every = [*published.values(), *shown]
    rows: list[Row] = []
    for base in dict.fromkeys(row.base for row in every):
        for row in _mark_best([row for row in every if row.base == base]):
            rows.append(row)
            alike = (theirs for name, theirs in published.items() if row.model and row.model.is_like(likes[name]))
            if (theirs := next(alike, None)) and (difference := _difference(row, theirs)):
                rows.append(difference)
    return ComparisonTable(paper.heading(number), table.score, headers, rows, list(table.notes), footnotes)


def build_plain_table(title: str, score: str, columns: dict[str, Source], own: Sequence[OwnModel]) -> ComparisonTable:
    """Return a table of scores that no paper reports, one column per score."""
    rows, footnotes = _own_rows(own, [(source,) for source in columns.values()])
    return ComparisonTable(title, score, tuple(columns), _mark_best(rows), [], footnotes)


def _own_rows(own: Iterable[OwnModel], sources: Sequence[tuple[Source, ...]]) -> tuple[list[Row], list[str]]:
    """Return rows of our models that have a score in some column, and footnotes, of which equal ones are one."""
    rows: list[Row] = []
    footnotes: dict[str, int] = {}

    def numbered(model: OwnModel, found: Cell, needed: int) -> Cell:
        note, have = found.note if found.value is not None else "", needed - len(found.missing)
        if found.missing and have:
            note = f"{have} of {needed} scores exist; the average is shown only over all of them"
        number = footnotes.setdefault(f"{model.label}: {note}.", len(footnotes) + 1) if note else None
        return replace(found, footnote=number)

    for model in own:
        measured = [model.measure(needed) for needed in sources]
        if any(found.value is not None for found in measured):
            cells = tuple(numbered(model, found, len(needed)) for found, needed in zip(measured, sources, strict=True))
            base = base_name(model.base)
            rows.append(Row(model.name, model.label, "own", base, model.origin, cells, model.method, model))
    return rows, list(footnotes)


def _mark_best(group: Sequence[Row]) -> list[Row]:
    """Mark the best comparable scores of each column, if several models have one: see `best_cells`."""
    columns = [list(cells) for cells in zip(*(row.cells for row in group), strict=True)]
    for cells in columns:
        for index in best_cells(cells):
            cells[index] = replace(cells[index], best=True)
    return [replace(row, cells=cells) for row, cells in zip(group, zip(*columns, strict=True), strict=True)]


def best_cells(cells: Sequence[Cell]) -> set[int]:
    """Return the positions of the highest comparable score and of those that are not significantly below it.

    Scores that are equal after rounding are equally high. If both have resampled scores, the others are compared with
    the highest one on the same resamples of the test items, with p-values corrected for multiple comparisons.
    """
    figures = {
        position: (round(cell.value, 1), cell.resampled is not None, cell.value)
        for position, cell in enumerate(cells)
        if cell.value is not None and cell.comparable
    }
    if len(figures) < 2:
        return set()
    first = max(figures, key=figures.__getitem__)
    best = cells[first]
    p_values = {
        str(position): paired_p(best.resampled, other)
        for position in figures
        if position != first
        and best.resampled is not None
        and (other := cells[position].resampled) is not None
        and cells[position].data == best.data
    }
    near = {int(position) for position, p in holm(p_values).items() if p >= SIGNIFICANCE}
    return near | {position for position, (rounded, *_) in figures.items() if rounded == figures[first][0]}


def _difference(row: Row, published: Row) -> Row | None:
    """Return our rounded scores minus those of the published counterpart; None if no column has both."""
    cells = tuple(
        Cell(round(ours.value, 1) - theirs.value, signed=True)
        if ours.value is not None and theirs.value is not None and ours.comparable
        else Cell()
        for ours, theirs in zip(row.cells, published.cells, strict=True)
    )
    name = f"difference from {published.name}"
    differs = any(cell.value is not None for cell in cells)
    return Row(name, name, "difference", row.base, "", cells) if differs else None


PRINTED_COLUMNS = ("paper", "table", "row", "baseline", "column", "printed", "here", "difference", "note")
"""Columns of the comparison: one row a printed figure; `here` is missing if it could not be measured."""


def printed_figures(published: Published, model: OwnModel) -> Iterator[tuple[str, str, str, str, float]]:
    """Yield (paper, table, row, column, figure) of each figure that papers print for an encoder or checkpoint."""
    for name, paper in published.root.items():
        for number, table in paper.tables.items():
            for row, figures in table.rows.items():
                theirs = paper.models[row]
                # Of an encoder without checkpoints, a paper may score several poolings.
                pooled = not theirs.pooling or theirs.pooling == model.pooling or theirs.checkpoints
                if pooled and model.is_like(theirs):
                    for column, figure in zip(table.columns, figures, strict=True):
                        if figure is not None:
                            yield name, number, row, column.header, figure


def printed_tasks(published: Published, model: OwnModel) -> tuple[str, ...]:
    """Return the tasks of the figures that are printed for a model."""
    tasks = (
        source.task
        for paper, table, _, column, _ in printed_figures(published, model)
        for source in published.root[paper].sources(table, column)
    )
    return tuple(dict.fromkeys(tasks))


def compare_with_printed(published: Published, models: Sequence[OwnModel]) -> pd.DataFrame:
    """Compare models with every figure that is printed for them.

    One row per figure, with `PRINTED_COLUMNS`; scores in points.
    """
    rows = []
    for model in models:
        for name, table, row, column, figure in printed_figures(published, model):
            paper = published.root[name]
            measured = model.measure(paper.sources(table, column))
            here = measured.value if measured.comparable else None
            missing = ", ".join(f"{source.task} {source.subset}" for source in measured.missing)
            note = measured.note if here is not None or not missing else f"not scored: {missing}"
            # Rounded, so that 72.8 - 72.5 is not larger than 0.3
            difference = None if here is None else round(here - figure, 6)
            rows.append((paper.short, table, row, model.method, column, figure, here, difference, note))
    return pd.DataFrame(rows, columns=list(PRINTED_COLUMNS))


Rows = Iterable[Mapping[str, Any]]

FULL = "all"  # header of the scores of complete embeddings


def full_rows(rows: Rows) -> list[dict[str, Any]]:
    """Return the rows of scores of complete embeddings."""
    return [dict(row) for row in rows if row.get("dimension") is None]


def dimension_tables(rows: Rows) -> list[ComparisonTable]:
    """Return one table per task of the models that were scored at several numbers of dimensions.

    `rows`: Scores of all models; those of truncated embeddings have a `dimension`.
    """
    scores = pd.DataFrame([dict(row) for row in rows])
    if "dimension" not in scores or scores["dimension"].isna().all():
        return []
    keys = [name for name in ("setting", "method", "model", "base", "pooling", "seed") if name in scores]
    groups = main_figures(scores).groupby(
        [*keys, "task", "metric", "dimension"], sort=False, dropna=False, as_index=False
    )
    means = groups["value"].mean()
    several = means.groupby([*keys, "task"], dropna=False)["dimension"].transform("nunique") > 0
    tables = []
    for name, own in means[several].groupby("task", sort=False):
        task, metric = str(name), get_task(str(name)).METRIC
        headers = [str(number) for number in sorted(own["dimension"].dropna().astype(int).unique())]
        columns = {header: Source(task, header, metric) for header in (*headers, FULL)}
        labels = [FULL if pd.isna(number) else str(int(number)) for number in own["dimension"]]
        known = [
            {key: value for key, value in row.items() if pd.notna(value)}
            for row in own.assign(subset=labels).to_dict("records")
        ]
        score = f"{metric.replace('_', ' ')} by the number of first dimensions, mean over subsets"
        tables.append(build_plain_table(f"Task {task} by dimension", score, columns, gather_models(known)))
    return tables
