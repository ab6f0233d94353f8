"""Published tables with our models added: best scores, differences and footnotes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pandas as pd

from ease.evaluation.resampling import Interval, Resampled, holm, paired_p
from ease.evaluation.tasks import get_task
from ease.reporting.own import Measured, OwnModel, gather_models
from ease.reporting.published import Model, Paper, Published, Source, base_name
from ease.reporting.score_summaries import main_figures

Kind = Literal["published", "own", "difference"]
PAPER = "paper"
SIGNIFICANCE = 0.05
"""A score of a lower corrected p-value is significantly below the best one."""

MINUS, NONE = "\N{MINUS SIGN}", "\N{EN DASH}"


@dataclass(frozen=True)
class Cell:
    """A score in points, shown with one decimal; None is shown as a dash."""

    value: float | None = None
    deviation: float | None = None
    signed: bool = False
    comparable: bool = True
    best: bool = False
    footnote: int | None = None
    interval: Interval | None = None
    resampled: Resampled | None = field(default=None, repr=False, compare=False)
    data: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def limits(self) -> str:
        """The formatted 95% interval; empty if unknown."""
        return (
            "" if self.interval is None else f"[{_points(self.interval.low)}, {_points(self.interval.high)}]"
        )

    @property
    def text(self) -> str:
        """The formatted score with its standard deviation."""
        if self.value is None:
            return NONE
        rounded = round(self.value, 1) + 0.0  # turns negative zero into zero
        value = f"{rounded:{'+' if self.signed and rounded else ''}.1f}"
        spread = "" if self.deviation is None else f" ± {self.deviation:.1f}"
        return value.replace("-", MINUS) + spread


def _points(value: float) -> str:
    return f"{round(value, 1) + 0.0:.1f}".replace("-", MINUS)


@dataclass(frozen=True)
class Row:
    """Scores of a model, or differences of our model from its published counterpart."""

    name: str
    label: str
    """The name in figures."""
    kind: Kind
    base: str
    """Name, without owner, of the encoder that training starts from; groups rows."""
    origin: str
    cells: tuple[Cell, ...]
    method: str = ""


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
    """Add our models to a published table, grouped by the encoder that they start from.

    Returns:
        None if none of our models has a score for it.
    """
    table = paper.tables[number]
    sources = [paper.sources(number, column.header) for column in table.columns]
    likes = [paper.models[name] for name in table.rows]
    fitting = [model for model in own if not table.counterparts_only or any(map(model.is_like, likes))]
    shown = _own_rows(fitting, sources)
    if not shown.rows:
        return None
    published = {
        name: Row(
            name,
            name,
            "published",
            base_name(model.base),
            PAPER,
            tuple(map(Cell, figures)),
            model.method or "",
        )
        for name, model, figures in zip(table.rows, likes, table.rows.values(), strict=True)
    }
    bases = dict.fromkeys(row.base for row in (*published.values(), *shown.rows))
    rows: list[Row] = []
    for base in bases:
        group = [row for row in (*published.values(), *shown.rows) if row.base == base]
        for row in _mark_best(group):
            rows.append(row)
            rows += _differences(row, shown.models.get(row.label), paper.models, published)
    headers = tuple(column.header for column in table.columns)
    return ComparisonTable(
        paper.heading(number), table.score, headers, rows, list(table.notes), shown.footnotes
    )


def build_plain_table(
    title: str, score: str, columns: dict[str, Source], own: Sequence[OwnModel]
) -> ComparisonTable:
    """Return a table of scores that no paper reports, one column per score."""
    shown = _own_rows(own, [(source,) for source in columns.values()])
    return ComparisonTable(title, score, tuple(columns), _mark_best(shown.rows), [], shown.footnotes)


@dataclass
class _Own:
    """Our rows of a table, their models by the rows' labels, and footnotes."""

    rows: list[Row] = field(default_factory=list)
    models: dict[str, OwnModel] = field(default_factory=dict)
    footnotes: list[str] = field(default_factory=list)

    def note(self, text: str) -> int | None:
        """Return a footnote's number; equal footnotes share it."""
        if not text:
            return None
        if text not in self.footnotes:
            self.footnotes.append(text)
        return self.footnotes.index(text) + 1


def _own_rows(own: Iterable[OwnModel], sources: Sequence[tuple[Source, ...]]) -> _Own:
    """Return rows of our models that have a score in some column."""
    shown = _Own()
    for model in own:
        measured = [model.measure(needed) for needed in sources]
        if all(found.mean is None for found in measured):
            continue
        notes = (shown.note(_footnote(model, *found)) for found in zip(measured, sources, strict=True))
        cells = tuple(
            Cell(
                found.mean,
                found.deviation,
                comparable=found.comparable,
                footnote=note,
                interval=found.interval,
                resampled=found.resampled,
                data=found.data,
            )
            for found, note in zip(measured, notes, strict=True)
        )
        base = base_name(model.base)
        shown.rows.append(Row(model.name, model.label, "own", base, model.origin, cells, model.method))
        shown.models[model.label] = model
    return shown


def _footnote(model: OwnModel, found: Measured, needed: Sequence[Source]) -> str:
    """Return the note of a score, or why an average is missing."""
    have = len(needed) - len(found.missing)
    if found.missing and have:
        return f"{model.label}: {have} of {len(needed)} scores exist; the average is shown only over all of them."
    return f"{model.label}: {found.note}." if found.note and found.mean is not None else ""


def _mark_best(group: Sequence[Row]) -> list[Row]:
    """Mark the best comparable scores of each column, if several models have one: see `best_cells`."""
    marked = list(group)
    for column in range(len(group[0].cells) if group else 0):
        for index in best_cells([row.cells[column] for row in group]):
            cells = list(marked[index].cells)
            cells[column] = replace(cells[column], best=True)
            marked[index] = replace(marked[index], cells=tuple(cells))
    return marked


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


def _differences(
    row: Row, model: OwnModel | None, published: dict[str, Model], rows: dict[str, Row]
) -> list[Row]:
    """Return our rounded scores minus those of the published counterpart, if the table has one."""
    if row.kind != "own" or model is None:
        return []
    counterpart = next((name for name in rows if model.is_like(published[name])), None)
    if counterpart is None:
        return []
    cells = tuple(
        Cell(round(ours.value, 1) - theirs.value, signed=True)
        if ours.value is not None and theirs.value is not None and ours.comparable
        else Cell()
        for ours, theirs in zip(row.cells, rows[counterpart].cells, strict=True)
    )
    name = f"difference from {counterpart}"
    differs = any(cell.value is not None for cell in cells)
    return [Row(name, name, "difference", row.base, "", cells)] if differs else []


PRINTED_COLUMNS = ("paper", "table", "row", "baseline", "column", "printed", "here", "difference", "note")
"""Columns of the comparison: one row a printed figure; `here` is missing if it could not be measured."""

_DECIMALS = 6
"""Differences are rounded, so that 72.8 - 72.5 is not larger than 0.3."""


def printed_figures(published: Published, model: OwnModel) -> Iterator[tuple[str, str, str, str, float]]:
    """Yield (paper, table, row, column, figure) of each figure that is printed for a model.

    Args:
        published: The papers' tables.
        model: A published checkpoint, or an encoder that a paper scores without training.
    """
    for name, paper in published.root.items():
        for number, table in paper.tables.items():
            for row, figures in table.rows.items():
                if not _same(model, paper.models[row]):
                    continue
                for column, figure in zip(table.columns, figures, strict=True):
                    if figure is not None:
                        yield name, number, row, column.header, figure


def printed_tasks(published: Published, model: OwnModel) -> tuple[str, ...]:
    """Return the tasks of the figures that are printed for a model."""
    return tuple(
        dict.fromkeys(
            source.task
            for paper, table, _, column, _ in printed_figures(published, model)
            for source in published.root[paper].sources(table, column)
        )
    )


def compare_with_printed(published: Published, models: Sequence[OwnModel]) -> pd.DataFrame:
    """Compare models with every figure that is printed for them.

    Returns:
        One row per figure, with `PRINTED_COLUMNS`; scores in points.
    """
    rows = []
    for model in models:
        for paper, table, row, column, figure in printed_figures(published, model):
            measured = model.measure(published.root[paper].sources(table, column))
            here = measured.mean if measured.comparable else None
            missing = ", ".join(f"{source.task} {source.subset}" for source in measured.missing)
            note = measured.note if here is not None or not missing else f"not scored: {missing}"
            difference = None if here is None else round(here - figure, _DECIMALS)
            heading = published.root[paper].short
            rows.append((heading, table, row, model.method, column, figure, here, difference, note))
    return pd.DataFrame(rows, columns=list(PRINTED_COLUMNS))


def _same(model: OwnModel, published: Model) -> bool:
    """Whether a figure is of this checkpoint; one of its pooling, where the paper scores several."""
    of_pooling = not published.pooling or published.pooling == model.pooling
    return model.is_like(published) and (of_pooling or bool(published.checkpoints))


Rows = Iterable[Mapping[str, Any]]

FULL = "all"
"""Header of the scores of complete embeddings."""


def full_rows(rows: Rows) -> list[dict[str, Any]]:
    """Return the rows of scores of complete embeddings."""
    return [dict(row) for row in rows if row.get("dimension") is None]


def dimension_tables(rows: Rows) -> list[ComparisonTable]:
    """Return one table per task of the models that were scored at several numbers of dimensions.

    Args:
        rows: Scores of all models; those of truncated embeddings have a `dimension`.
    """
    scores = pd.DataFrame([dict(row) for row in rows])
    if "dimension" not in scores or scores["dimension"].isna().all():
        return []
    keys = [name for name in ("setting", "method", "model", "base", "pooling", "seed") if name in scores]
    means = _means(scores, [*keys, "task", "metric", "dimension"])
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


def _means(scores: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return the mean of each model's main scores over the subsets of each task, by dimension."""
    return main_figures(scores).groupby(keys, sort=False, dropna=False, as_index=False)["value"].mean()
