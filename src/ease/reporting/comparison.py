"""Published tables with our models added: best scores, differences and footnotes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ease.evaluation.resampling import holm, paired_p
from ease.lazy import pd
from ease.reporting.own import OwnModel, ScoreCell, gather_models
from ease.reporting.published import Paper, PaperTable, PublishedPapers, ScoreKey, base_name
from ease.reporting.score_summaries import main_figures

SIGNIFICANCE = 0.05
"""A score with a lower corrected p-value is significantly below the best score."""


@dataclass(frozen=True)
class ComparisonRow:
    """Scores of a model, or differences of our model from its published counterpart."""

    name: str
    label: str
    """Name in figures"""
    kind: Literal["published", "own", "difference"]
    base: str
    """Name, without owner, of the encoder that training starts from; groups rows"""
    origin: str
    cells: tuple[ScoreCell, ...]
    method: str = ""
    model: OwnModel | None = field(default=None, repr=False, compare=False)


@dataclass
class ComparisonTable:
    """A table of the report."""

    title: str
    score: str
    headers: tuple[str, ...]
    rows: list[ComparisonRow]
    notes: list[str] = field(default_factory=list)
    footnotes: list[str] = field(default_factory=list)


def build_table(paper: Paper, number: str, models: Sequence[OwnModel]) -> ComparisonTable | None:
    """Return a published table with our models, grouped by base encoder; None if none of ours has a score in it."""
    table = paper.tables[number]
    headers = tuple(column.header for column in table.columns)
    if table.counterparts_only:
        counterparts = [paper.models[name] for name in table.rows]
        models = [model for model in models if any(map(model.is_like, counterparts))]
    own_rows, footnotes = _own_rows(models, [paper.score_keys(number, header) for header in headers])
    if not own_rows:
        return None
    published = _published_rows(paper, table)
    table_rows = [*published.values(), *own_rows]
    rows: list[ComparisonRow] = []
    for base in dict.fromkeys(row.base for row in table_rows):
        # The best score is marked among models that start from the same encoder: others are not comparable.
        for row in _mark_best([row for row in table_rows if row.base == base]):
            rows.append(row)
            counterpart = _counterpart(row, published, paper)
            difference = None
            if counterpart:
                difference = _difference(row, counterpart)
            if difference:
                rows.append(difference)
    return ComparisonTable(paper.heading(number), table.score, headers, rows, list(table.notes), footnotes)


def _published_rows(paper: Paper, table: PaperTable) -> dict[str, ComparisonRow]:
    """Return the rows of a published table by the names of their models."""
    rows = {}
    for name, figures in table.rows.items():
        model = paper.models[name]
        cells = tuple(map(ScoreCell, figures))
        rows[name] = ComparisonRow(name, name, "published", base_name(model.base), "paper", cells, model.method or "")
    return rows


def _counterpart(row: ComparisonRow, published: Mapping[str, ComparisonRow], paper: Paper) -> ComparisonRow | None:
    """Return the first published row of the model that one of our rows reproduces."""
    if row.model:
        for name, published_row in published.items():
            if row.model.is_like(paper.models[name]):
                return published_row
    return None


def build_plain_table(
    title: str, score: str, columns: dict[str, ScoreKey], models: Sequence[OwnModel]
) -> ComparisonTable:
    """Return a table of scores that no paper reports, with one column per score."""
    rows, footnotes = _own_rows(models, [(key,) for key in columns.values()])
    return ComparisonTable(title, score, tuple(columns), _mark_best(rows), [], footnotes)


def _own_rows(
    models: Iterable[OwnModel], columns: Sequence[tuple[ScoreKey, ...]]
) -> tuple[list[ComparisonRow], list[str]]:
    """Return the rows of our models that have a score in some column, and the distinct footnotes.

    Each column is the mean of several scores.
    """
    rows: list[ComparisonRow] = []
    footnotes: dict[str, int] = {}
    for model in models:
        cells = [model.measure(keys) for keys in columns]
        if all(cell.value is None for cell in cells):
            continue
        numbered = []
        for cell, keys in zip(cells, columns, strict=True):
            note = _cell_note(cell, len(keys))
            if note:
                # Equal notes of a model share a number.
                number = footnotes.setdefault(f"{model.label}: {note}.", len(footnotes) + 1)
                cell = replace(cell, footnote=number)
            numbered.append(cell)
        base = base_name(model.base)
        row = ComparisonRow(model.name, model.label, "own", base, model.origin, tuple(numbered), model.method, model)
        rows.append(row)
    return rows, list(footnotes)


def _cell_note(cell: ScoreCell, score_count: int) -> str:
    """Return the note on a cell that averages some scores; empty if there is nothing to say."""
    available = score_count - len(cell.missing)
    if cell.missing and available:
        return f"{available} of {score_count} scores exist; the average is shown only over all of them"
    if cell.value is None:
        return ""
    return cell.note


def _mark_best(group: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """Mark the best comparable scores of each column, if several models have one: see `best_cells`."""
    columns = [list(cells) for cells in zip(*(row.cells for row in group), strict=True)]
    for cells in columns:
        for index in best_cells(cells):
            cells[index] = replace(cells[index], best=True)
    return [replace(row, cells=cells) for row, cells in zip(group, zip(*columns, strict=True), strict=True)]


def best_cells(cells: Sequence[ScoreCell]) -> set[int]:
    """Return the positions of the highest comparable score and of those that are not significantly below it.

    Scores that are equal after rounding are equally high. If both have resampled scores, the others are compared with
    the highest score on the same resamples of the test items, with p-values corrected for multiple comparisons.
    """
    # Of scores that are equal in print, one with resamples comes first: only such a score can be tested against.
    figures = {
        position: (round(cell.value, 1), cell.resampled is not None, cell.value)
        for position, cell in enumerate(cells)
        if cell.value is not None and cell.comparable
    }
    if len(figures) < 2:
        return set()
    first = max(figures, key=figures.__getitem__)
    highest = cells[first]
    p_values = {}
    for position in figures:
        resampled = cells[position].resampled
        # Resamples are paired by item, so both scores must have the same items.
        same_data = cells[position].data == highest.data
        if position != first and highest.resampled is not None and resampled is not None and same_data:
            p_values[str(position)] = paired_p(highest.resampled, resampled)
    not_significantly_lower = {int(position) for position, p in holm(p_values).items() if p >= SIGNIFICANCE}
    ties = {position for position, (rounded, *_) in figures.items() if rounded == figures[first][0]}
    return not_significantly_lower | ties


def _difference(row: ComparisonRow, published: ComparisonRow) -> ComparisonRow | None:
    """Return our rounded scores minus those of the published counterpart; None if no column has both."""
    cells = []
    for own_cell, published_cell in zip(row.cells, published.cells, strict=True):
        if own_cell.value is None or published_cell.value is None or not own_cell.comparable:
            cells.append(ScoreCell())
        else:
            cells.append(ScoreCell(round(own_cell.value, 1) - published_cell.value, signed=True))
    if all(cell.value is None for cell in cells):
        return None
    name = f"difference from {published.name}"
    return ComparisonRow(name, name, "difference", row.base, "", tuple(cells))


PRINTED_COLUMNS = ("paper", "table", "row", "baseline", "column", "printed", "here", "difference", "note")
"""Columns of the comparison, with one row per printed figure; `here` is missing if it could not be measured."""


def printed_figures(published: PublishedPapers, model: OwnModel) -> Iterator[tuple[str, str, str, str, float]]:
    """Yield (paper, table, row, column, figure) for each figure that papers print for an encoder or checkpoint."""
    for name, paper in published.root.items():
        for number, table in paper.tables.items():
            for row, figures in table.rows.items():
                counterpart = paper.models[row]
                # A paper may score several poolings of an encoder without checkpoints.
                same_pooling = not counterpart.pooling or counterpart.pooling == model.pooling
                if not (same_pooling or counterpart.checkpoints) or not model.is_like(counterpart):
                    continue
                for column, figure in zip(table.columns, figures, strict=True):
                    if figure is not None:
                        yield name, number, row, column.header, figure


def printed_tasks(published: PublishedPapers, model: OwnModel) -> tuple[str, ...]:
    """Return the tasks of the figures that are printed for a model."""
    tasks = (
        key.task
        for paper, table, _, column, _ in printed_figures(published, model)
        for key in published.root[paper].score_keys(table, column)
    )
    return tuple(dict.fromkeys(tasks))


def compare_with_printed(published: PublishedPapers, models: Sequence[OwnModel]) -> pd.DataFrame:
    """Compare models with every figure that is printed for them.

    One row per figure, with `PRINTED_COLUMNS`; scores in points.
    """
    rows = []
    for model in models:
        for name, table, row, column, figure in printed_figures(published, model):
            paper = published.root[name]
            cell = model.measure(paper.score_keys(table, column))
            score = None
            difference = None
            note = cell.note
            if cell.comparable and cell.value is not None:
                score = cell.value
                # Rounded, so that 72.8 - 72.5 is not larger than 0.3
                difference = round(score - figure, 6)
            elif cell.missing:
                missing = ", ".join(f"{key.task} {key.subset}" for key in cell.missing)
                note = f"not scored: {missing}"
            rows.append((paper.short, table, row, model.method, column, figure, score, difference, note))
    return pd.DataFrame(rows, columns=list(PRINTED_COLUMNS))


ScoreRows = Iterable[Mapping[str, Any]]

FULL_HEADER = "all"
"""Header of the scores of complete embeddings"""


def full_rows(rows: ScoreRows) -> list[dict[str, Any]]:
    """Return the rows with scores of complete embeddings."""
    return [dict(row) for row in rows if row.get("dimension") is None]


def dimension_tables(rows: ScoreRows) -> list[ComparisonTable]:
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
    # `nunique` does not count missing dimensions, which are those of complete embeddings.
    is_truncated = means.groupby([*keys, "task"], dropna=False)["dimension"].transform("nunique") > 0
    by_task = means[is_truncated].groupby(["task", "metric"], sort=False)
    return [_dimension_table(str(task), str(metric), rows) for (task, metric), rows in by_task]


def _dimension_table(task: str, metric: str, means: pd.DataFrame) -> ComparisonTable:
    """Return the table of a task from mean scores by model and dimension, with a column per dimension."""
    headers = [str(number) for number in sorted(means["dimension"].dropna().astype(int).unique())]
    columns = {header: ScoreKey(task, header, metric) for header in (*headers, FULL_HEADER)}
    rows = []
    for mean in means.to_dict("records"):
        row = {name: value for name, value in mean.items() if pd.notna(value)}
        # The number of dimensions takes the place of the subset.
        row["subset"] = FULL_HEADER
        if "dimension" in row:
            row["subset"] = str(int(row["dimension"]))
        rows.append(row)
    score = f"{metric.replace('_', ' ')} by the number of first dimensions, mean over subsets"
    return build_plain_table(f"Task {task} by dimension", score, columns, gather_models(rows))
