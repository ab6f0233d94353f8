"""A paper's table with our models in it: best figures, differences and footnotes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ease.reporting.own import Measured, OwnModel
from ease.reporting.published import Model, Paper, Source, Table, base_name

Kind = Literal["published", "own", "difference"]
PAPER = "paper"
MINUS, NONE = "\N{MINUS SIGN}", "\N{EN DASH}"


@dataclass(frozen=True)
class Cell:
    """A figure in points, to be shown with one decimal; None shows a dash."""

    value: float | None = None
    deviation: float | None = None
    signed: bool = False
    comparable: bool = True
    best: bool = False
    footnote: int | None = None

    @property
    def text(self) -> str:
        """The figure as it is read, with its standard deviation."""
        if self.value is None:
            return NONE
        rounded = round(self.value, 1) + 0.0  # which makes a negative zero positive
        value = f"{rounded:{'+' if self.signed and rounded else ''}.1f}"
        spread = "" if self.deviation is None else f" ± {self.deviation:.1f}"
        return value.replace("-", MINUS) + spread


@dataclass(frozen=True)
class Row:
    """A model's figures, or the difference of ours from its published counterpart."""

    name: str
    label: str
    """The name where it stands alone, as in figures."""
    kind: Kind
    base: str
    """What the rows of a group share: the name of the encoder that they start from, without its owner."""
    origin: str
    cells: tuple[Cell, ...]
    method: str = ""


@dataclass
class ComparisonTable:
    """A table as it is shown."""

    title: str
    score: str
    headers: tuple[str, ...]
    rows: list[Row]
    notes: list[str] = field(default_factory=list)
    footnotes: list[str] = field(default_factory=list)


def build_table(paper: Paper, number: str, own: Sequence[OwnModel]) -> ComparisonTable | None:
    """Put our models into a paper's table, each beside those that start from the same encoder.

    Returns:
        None where no model of ours has a figure for it.
    """
    table = paper.tables[number]
    sources = [paper.sources(number, column.header) for column in table.columns]
    likes = [paper.models[name] for name in table.rows]
    fitting = [model for model in own if not table.counterparts_only or any(map(model.is_like, likes))]
    shown = _own_rows(fitting, sources)
    if not shown.rows:
        return None
    published = {name: _published_row(name, paper.models[name], table) for name in table.rows}
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
    """Lay out scores that no paper has printed: a column a score."""
    shown = _own_rows(own, [(source,) for source in columns.values()])
    return ComparisonTable(title, score, tuple(columns), _mark_best(shown.rows), [], shown.footnotes)


@dataclass
class _Own:
    """Our rows of a table, their models by the rows' labels, and what is to be said of single cells."""

    rows: list[Row] = field(default_factory=list)
    models: dict[str, OwnModel] = field(default_factory=dict)
    footnotes: list[str] = field(default_factory=list)

    def note(self, text: str) -> int | None:
        """Number a footnote; the same words share a number."""
        if not text:
            return None
        if text not in self.footnotes:
            self.footnotes.append(text)
        return self.footnotes.index(text) + 1


def _own_rows(own: Iterable[OwnModel], sources: Sequence[tuple[Source, ...]]) -> _Own:
    """Our models that have a figure in some column; footnotes of others are not kept."""
    shown = _Own()
    for model in own:
        measured = [model.measure(needed) for needed in sources]
        if all(found.mean is None for found in measured):
            continue
        cells = tuple(
            Cell(
                found.mean,
                found.deviation,
                comparable=found.comparable,
                footnote=shown.note(_footnote(model, found, needed)),
            )
            for found, needed in zip(measured, sources, strict=True)
        )
        shown.rows.append(
            Row(model.name, model.label, "own", base_name(model.base), model.origin, cells, model.method)
        )
        shown.models[model.label] = model
    return shown


def _footnote(model: OwnModel, found: Measured, needed: Sequence[Source]) -> str:
    """What a reader must know of a figure, or why an average is missing."""
    have = len(needed) - len(found.missing)
    if found.missing and have:
        return f"{model.label}: {have} of {len(needed)} scores are there, and an average is shown over all or none."
    return f"{model.label}: {found.note}." if found.note and found.mean is not None else ""


def _published_row(name: str, model: Model, table: Table) -> Row:
    cells = tuple(Cell(value) for value in table.rows[name])
    return Row(name, name, "published", base_name(model.base), PAPER, cells, model.method or "")


def _mark_best(group: Sequence[Row]) -> list[Row]:
    """Mark the highest comparable figure of each column, as printed, where several models compete."""
    marked = list(group)
    for column in range(len(group[0].cells) if group else 0):
        figures = {
            index: round(cell.value, 1)
            for index, row in enumerate(group)
            if (cell := row.cells[column]).value is not None and cell.comparable
        }
        for index, value in figures.items():
            if len(figures) > 1 and value == max(figures.values()):
                cells = list(marked[index].cells)
                cells[column] = replace(cells[column], best=True)
                marked[index] = replace(marked[index], cells=tuple(cells))
    return marked


def _differences(
    row: Row, model: OwnModel | None, published: dict[str, Model], rows: dict[str, Row]
) -> list[Row]:
    """Our figures, as shown, minus those of the published counterpart, if this table has one."""
    if row.kind != "own" or model is None:
        return []
    counterpart = next((name for name in rows if model.is_like(published[name])), None)
    if counterpart is None:
        return []
    pairs = zip(row.cells, rows[counterpart].cells, strict=True)
    cells = tuple(_difference(ours, theirs) for ours, theirs in pairs)
    name = f"difference from {counterpart}"
    return (
        [Row(name, name, "difference", row.base, "", cells)]
        if any(c.value is not None for c in cells)
        else []
    )


def _difference(ours: Cell, theirs: Cell) -> Cell:
    if ours.value is None or theirs.value is None or not ours.comparable:
        return Cell()
    return Cell(round(ours.value, 1) - theirs.value, signed=True)
