"""The papers' figures are read, complete, consistent, and refer to scores of our tasks; wrong files are refused."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from ease.evaluation.scores import AVERAGE
from ease.evaluation.tasks import package_tasks
from ease.reporting.published import PaperTable, PublishedPapers, ScoreKey
from tests.evaluation.made_tasks import make_task
from tests.reporting.made import published

PRINTED: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("papers.yml").read_text(encoding="utf-8"))
PAPERS = list(PRINTED["sums"])

PRINTED_OTHERWISE = {
    # Table 14 prints 76.5, which is the mean of its figures.
    ("ease", "1", "SimCSE-RoBERTabase", "7 STS avg."): 76.5,
    # Tables 1 and 14 print 77.0.
    ("ease", "7", "EASE-BERTbase", "STS avg."): 77.0,
}
"""The second figure of averages for which a paper prints two."""


@pytest.mark.parametrize("name", PAPERS)
def test_the_tables_of_a_paper_are_there_with_all_their_figures(name: str) -> None:
    tables = published().root[name].tables
    sums = {}
    for number, table in tables.items():
        figures_there = [figure for row in table.rows.values() for figure in row if figure is not None]
        sums[number] = [len(figures_there), round(math.fsum(figures_there), 2)]
    assert list(sums.items()) == list(PRINTED["sums"][name].items())
    assert {row for table in tables.values() for row in table.rows} == set(published().root[name].models)


def figure_of(table: PaperTable, model: str, header: str) -> float | None:
    return table.rows[model][table.columns.index(table.column(header))]


@pytest.mark.parametrize("name", PAPERS)
def test_printed_averages_are_the_means_of_the_printed_figures(name: str) -> None:
    tables, counts, wrong = published().root[name].tables, Counter[str](), {}
    for number, table in tables.items():
        for column in table.columns:
            other = tables[column.table or number]
            headers = [part for part in column.mean_of if isinstance(part, str)]
            for model in table.rows.keys() & other.rows.keys() if headers else ():
                printed = figure_of(table, model, column.header)
                if printed is not None:
                    counts[number] += 1
                    mean = math.fsum(figure_of(other, model, header) or 0 for header in headers) / len(headers)
                    # A mean of figures that are rounded to 0.05 has the same error, and is rounded once more.
                    if abs(printed - mean) > 0.09:
                        wrong[name, number, model, column.header] = mean
    assert counts == PRINTED["averages"][name]
    exceptions = {place: mean for place, mean in PRINTED_OTHERWISE.items() if place[0] == name}
    assert wrong == {place: pytest.approx(mean) for place, mean in exceptions.items()}


def figures(name: str, number: str, model: str) -> dict[ScoreKey, float]:
    """A model's figures in a table that are single scores."""
    paper = published().root[name]
    table = paper.tables[number]
    single = {column.header: paper.score_keys(number, column.header) for column in table.columns if column.task}
    values = {source: figure_of(table, model, header) for header, (source,) in single.items()}
    return {source: value for source, value in values.items() if value is not None}


@pytest.mark.parametrize("rows", PRINTED["quoted"], ids=str)
def test_figures_that_one_table_takes_from_another_are_the_same(rows: list[Any]) -> None:
    quoted, source = figures(*rows[:3]), figures(*rows[3:6])
    both = quoted.keys() & source.keys()
    assert len(both) == rows[6]
    # Tables of two decimals are quoted with one.
    assert [quoted[score] for score in both] == pytest.approx([source[score] for score in both], abs=0.0501)


def test_every_column_is_a_score_that_a_task_gives() -> None:
    available = set()
    for name in package_tasks():
        sets = {"sets": {"mine": {"file": "mine.csv"}}} if name.startswith("own_") else {}
        task = make_task(name, Path("absent"), **sets)
        # Groups have no files of their own; a classifier is scored in the language of its training, too.
        further = [*(f"{AVERAGE}_{group}" for group in task.groups), *(["en"] if name == "mldoc" else [])]
        available |= {ScoreKey(name, subset, metric) for subset in (*task.files(), *further) for metric in task.metrics}
    for name, paper in published().root.items():
        columns = [(number, column) for number, table in paper.tables.items() for column in table.columns]
        keys = {source for number, column in columns for source in paper.score_keys(number, column.header)}
        assert len(keys) == PRINTED["scores"][name]
        assert keys - available == set()


ONE = {"header": "a", "task": "stc", "subset": "agnews"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": {"M": [1.0]}}, "has 2 columns, but its row 'M' has 1 scores"),
        ({"rows": {"X": [1.0, 1.0]}}, "rows without an entry in `models`: \\['X'\\]"),
        ({"columns": [ONE, {"header": "Avg.", "mean_of": ["b"]}]}, "'T' has no column 'b'"),
        ({"columns": [ONE, {"header": "A", "mean_of": ["a"], "table": "9"}]}, "refers to table 9, which does"),
        ({"columns": [ONE, {"header": "b", "task": "stc"}]}, "'b' needs either"),
        ({"metric": ""}, "needs `metric`"),
    ],
)
def test_a_wrong_table_is_refused(changes: dict[str, Any], message: str) -> None:
    columns = [ONE, {"header": "Avg.", "mean_of": ["a"]}]
    table = {"title": "T", "score": "s", "metric": "accuracy", "columns": columns, "rows": {"M": [1.0, 1.0]}}
    paper = {"citation": "C", "short": "S", "models": {"M": {"base": "B"}}, "tables": {1: {**table, **changes}}}
    with pytest.raises(ValidationError, match=message):
        PublishedPapers.model_validate({"small": paper})
