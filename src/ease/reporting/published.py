"""What papers have printed: tables of figures, and which scores of ours belong into their columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, RootModel, field_validator, model_validator

from ease.errors import EaseError

FIRST = "ease"
"""The paper whose tables open the report."""


def base_name(encoder: str) -> str:
    """Return the part of a hub name or a path that names the encoder, which mirrors and folders share."""
    return encoder.rstrip("/").rpartition("/")[2]


class Source(NamedTuple):
    """The score that a cell shows."""

    task: str
    subset: str
    metric: str


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Named(_Entry):
    """A score by its names, where no column of its own shows it."""

    task: str
    subset: str
    metric: str


class Column(_Entry):
    """A column: one score, or the mean of several."""

    header: str
    task: str | None = Field(None, description="the task, of a column that shows one score")
    subset: str | None = Field(None, description="its subset")
    metric: str | None = Field(None, description="its metric; null: the table's")
    mean_of: tuple[str | Named, ...] = Field(
        (), description="headers, or scores, whose mean the column shows"
    )
    table: str | None = Field(None, description="the table whose headers `mean_of` names; null: this one")

    @model_validator(mode="after")
    def _one_kind(self) -> Column:
        if (self.task is None) != (self.subset is None) or (self.task is None) == (not self.mean_of):
            raise EaseError(f"The column {self.header!r} needs either `task` and `subset`, or `mean_of`.")
        return self


class Model(_Entry):
    """A model of a paper, and what makes one of ours its counterpart."""

    base: str = Field(
        description="the encoder that it starts from; models of one base are compared with one another"
    )
    method: str | None = Field(
        None, description="the method, or the sweep's variant, that trains the same here"
    )
    variants: tuple[str, ...] = Field((), description="further variants of sweeps that train the same")
    pooling: str | None = Field(None, description="its pooling, where the paper scores several")
    checkpoints: tuple[str, ...] = Field((), description="hub names under which it was published")


class Table(_Entry):
    """A table of a paper."""

    title: str
    score: str = Field(description="what the figures are, as a reader says it")
    metric: str = Field("", description="the metric of columns that show one score, as the tasks name it")
    columns: tuple[Column, ...] = Field(min_length=1)
    rows: dict[str, tuple[float | None, ...]] = Field({}, description="figures of each model, one a column")
    notes: tuple[str, ...] = ()
    counterparts_only: bool = Field(
        False, description="whether of our models only counterparts of its rows stand in it, as in ablations"
    )

    @model_validator(mode="after")
    def _rectangular(self) -> Table:
        headers = [column.header for column in self.columns]
        if len(set(headers)) < len(headers):
            raise EaseError(f"The table {self.title!r} has two columns of one name: {', '.join(headers)}.")
        for model, values in self.rows.items():
            if len(values) != len(headers):
                raise EaseError(
                    f"The table {self.title!r} has {len(headers)} columns, its row {model!r} {len(values)} figures."
                )
        if any(column.task and not (column.metric or self.metric) for column in self.columns):
            raise EaseError(f"The table {self.title!r} has columns of single scores, so it needs `metric`.")
        return self

    def column(self, header: str) -> Column:
        """Return the column of a header.

        Raises:
            EaseError: If there is none.
        """
        for column in self.columns:
            if column.header == header:
                return column
        raise EaseError(f"The table {self.title!r} has no column {header!r}.")

    def figure(self, model: str, header: str) -> float | None:
        """Return a printed figure; None where there is none."""
        return self.rows[model][[column.header for column in self.columns].index(header)]


class Paper(_Entry):
    """A paper's models and tables, by their names and numbers."""

    citation: str
    short: str = Field(description="the paper's name in titles")
    models: dict[str, Model]
    tables: dict[str, Table]

    @field_validator("tables", mode="before")
    @classmethod
    def _numbers(cls, tables: Any) -> Any:
        """Take a table's number that YAML reads as an integer."""
        return (
            {str(number): table for number, table in tables.items()} if isinstance(tables, dict) else tables
        )

    @model_validator(mode="after")
    def _resolved(self) -> Paper:
        for number, table in self.tables.items():
            unknown = [model for model in table.rows if model not in self.models]
            if unknown:
                raise EaseError(
                    f"Table {number} of {self.short} has rows without an entry in `models`: {unknown}."
                )
            for column in table.columns:
                self.sources(number, column.header)
        return self

    def heading(self, number: str) -> str:
        """Return what a reader calls a table: its number, or the name of a figure as it is."""
        name = f"Table {number}" if number[:1].isdigit() else number
        return f"{self.short}, {name}: {self.tables[number].title}"

    def sources(self, number: str, header: str) -> tuple[Source, ...]:
        """Return the scores whose mean a column shows, in their order.

        Raises:
            EaseError: If a table or a column that is referred to does not exist, or refers back to itself.
        """
        return tuple(self._sources(number, header, ()))

    def _sources(self, number: str, header: str, above: tuple[tuple[str, str], ...]) -> Iterator[Source]:
        if number not in self.tables or (number, header) in above:
            fault = (
                "refers to itself"
                if number in self.tables
                else f"is asked of table {number}, which is missing"
            )
            raise EaseError(f"The column {header!r} of {self.short} {fault}.")
        table = self.tables[number]
        column = table.column(header)
        if column.task and column.subset:
            yield Source(column.task, column.subset, column.metric or table.metric)
        for part in column.mean_of:
            if isinstance(part, Named):
                yield Source(part.task, part.subset, part.metric)
            else:
                yield from self._sources(column.table or number, part, (*above, (number, header)))


class Published(RootModel[dict[str, Paper]]):
    """The papers, by the names of their files in `parameters/published/`."""

    model_config = ConfigDict(frozen=True)

    @field_validator("root")
    @classmethod
    def _ordered(cls, papers: dict[str, Paper]) -> dict[str, Paper]:
        """Put EASE's first, then the others by name: the files of a configuration come in any order."""
        return {name: papers[name] for name in sorted(papers, key=lambda name: (name != FIRST, name))}

    def __str__(self) -> str:
        """Name papers and tables: MLflow keeps this, not the figures."""
        return "; ".join(f"{name}: tables {', '.join(paper.tables)}" for name, paper in self.root.items())

    def tasks(self) -> set[str]:
        """Return the tasks that some table shows."""
        return {
            source.task
            for paper in self.root.values()
            for number, table in paper.tables.items()
            for column in table.columns
            for source in paper.sources(number, column.header)
        }
