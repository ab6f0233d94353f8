"""Published tables of papers, and the scores of ours that belong in their columns."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, ConfigDict, Field, RootModel, field_validator, model_validator

from ease.errors import EaseError
from ease.options import StrictModel

FIRST_PAPER = "ease"
"""Paper whose tables come first in the report"""


def base_name(encoder: str) -> str:
    """Return the last part of an encoder's hub name or path, which mirrors and folders share."""
    return encoder.rstrip("/").rpartition("/")[2]


class ScoreKey(NamedTuple):
    """Task, subset and metric, which identify a score of a model."""

    task: str
    subset: str
    metric: str


class PaperColumn(StrictModel):
    """A column with one score or the mean of several."""

    header: str
    task: str | None = Field(None, description="task of a column of one score")
    subset: str | None = Field(None, description="subset of the score")
    metric: str | None = Field(None, description="metric of the score; null: the table's")
    mean_of: tuple[str | ScoreKey, ...] = Field((), description="headers or scores to average")
    table: str | None = Field(None, description="table of the headers in `mean_of`; null: this one")

    @model_validator(mode="after")
    def _check_kind(self) -> PaperColumn:
        is_incomplete = (self.task is None) != (self.subset is None)
        if is_incomplete or (self.task is None) == (not self.mean_of):
            raise EaseError(f"The column {self.header!r} needs either `task` and `subset`, or `mean_of`.")
        return self


class PaperModel(StrictModel):
    """A model of a paper, and the criteria for our counterparts."""

    base: str = Field(description="encoder that training starts from; models with the same base are compared")
    bases: tuple[str, ...] = Field((), description="encoders of the columns, if they differ")
    method: str | None = Field(
        None, description="our method, or the variant of a sweep, that is trained in the same way"
    )
    variants: tuple[str, ...] = Field((), description="further variants of sweeps that are trained in the same way")
    pooling: str | None = Field(None, description="pooling, if the paper scores several")
    checkpoints: tuple[str, ...] = Field((), description="hub names or file names of the published model")


class PaperTable(StrictModel):
    """A table of a paper."""

    title: str
    score: str = Field(description="name of the score for readers")
    metric: str = Field("", description="metric of the columns with one score, as the tasks name it")
    columns: tuple[PaperColumn, ...] = Field(min_length=1)
    rows: dict[str, tuple[float | None, ...]] = Field({}, description="scores of each model, one per column")
    notes: tuple[str, ...] = ()
    counterparts_only: bool = Field(
        False, description="whether only counterparts of its rows are added, as for ablations"
    )

    @model_validator(mode="after")
    def _check_columns(self) -> PaperTable:
        headers = [column.header for column in self.columns]
        for model, values in self.rows.items():
            if len(values) != len(headers):
                raise EaseError(
                    f"The table {self.title!r} has {len(headers)} columns, but its row {model!r} has "
                    f"{len(values)} scores."
                )
        if any(column.task and not (column.metric or self.metric) for column in self.columns):
            raise EaseError(f"The table {self.title!r} has columns of single scores, so it needs `metric`.")
        return self

    def column(self, header: str) -> PaperColumn:
        """Return the column with a header; raises EaseError if there is none."""
        for column in self.columns:
            if column.header == header:
                return column
        raise EaseError(f"The table {self.title!r} has no column {header!r}.")


class Paper(StrictModel):
    """A paper's models by name and tables by number."""

    citation: str
    short: str = Field(description="the paper's name in titles")
    models: dict[str, PaperModel]
    # Strings, since YAML reads most numbers as integers.
    tables: dict[Annotated[str, BeforeValidator(str)], PaperTable]

    @model_validator(mode="after")
    def _check_references(self) -> Paper:
        for number, table in self.tables.items():
            unknown = [model for model in table.rows if model not in self.models]
            if unknown:
                raise EaseError(f"Table {number} of {self.short} has rows without an entry in `models`: {unknown}.")
            # Raises an error for a header or a table that does not exist.
            for column in table.columns:
                self.score_keys(number, column.header)
        return self

    def heading(self, number: str) -> str:
        """Return the title of a table, with its number or the name of the figure."""
        name = number
        if number[:1].isdigit():
            name = f"Table {number}"
        return f"{self.short}, {name}: {self.tables[number].title}"

    def score_keys(self, number: str, header: str) -> tuple[ScoreKey, ...]:
        """Return the scores that a column averages, in order.

        Raises:
            EaseError: If the column refers to a table or header that does not exist.
        """
        if number not in self.tables:
            raise EaseError(f"The column {header!r} of {self.short} refers to table {number}, which does not exist.")
        table = self.tables[number]
        column = table.column(header)
        if column.task and column.subset:
            return (ScoreKey(column.task, column.subset, column.metric or table.metric),)
        keys: list[ScoreKey] = []
        for part in column.mean_of:
            if isinstance(part, str):
                keys += self.score_keys(column.table or number, part)
            else:
                keys.append(part)
        return tuple(keys)


class PublishedPapers(RootModel[dict[str, Paper]]):
    """Papers by the names of their files in `conf/base/published/`."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    @field_validator("root", mode="before")
    @classmethod
    def _read_files(cls, papers: dict[str, Any]) -> dict[str, Any]:
        """Return the contents of the files, which Kedro's catalog passes as functions."""
        contents = {}
        for name, paper in papers.items():
            contents[name] = paper
            if callable(paper):
                contents[name] = paper()
        return contents

    @field_validator("root")
    @classmethod
    def _sort(cls, papers: dict[str, Paper]) -> dict[str, Paper]:
        """Sort by name, EASE first, because files are listed in any order."""
        return {name: papers[name] for name in sorted(papers, key=lambda name: (name != FIRST_PAPER, name))}

    def tasks(self) -> set[str]:
        """Return the tasks of all tables."""
        return {
            key.task
            for paper in self.root.values()
            for number, table in paper.tables.items()
            for column in table.columns
            for key in paper.score_keys(number, column.header)
        }
