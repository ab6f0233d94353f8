"""The published figures: what they are, that they add up, and that our tasks score what their columns mean."""

from __future__ import annotations

import math
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ease.reporting.published import Paper, Published, Source, base_name
from ease.tasks import AVERAGE, get_task, task_names
from tests.project import ROOT
from tests.reporting.made import paper, parameters, published

TABLES = ("1", "2", "3", "4", "5", "6", "7", "10", "11", "14", "15")

PRINTED_OTHERWISE = {
    # Table 14 prints 76.5, which is the mean of its figures.
    ("1", "SimCSE-RoBERTabase", "7 STS avg."): 76.5,
    # Tables 1 and 14 print 77.0.
    ("7", "EASE-BERTbase", "STS avg."): 77.0,
}
"""Where the paper prints two figures for one average, the other one."""

ADDED_UP = {
    "1": (18, 1122.2),
    "2": (66, 3077.6),
    "3": (102, 3354.1),
    "4": (102, 5131.3),
    "5": (6, 129.5),
    "6": (54, 3967.7),
    "7": (20, 1151.6),
    "10": (8, 564.6),
    "11": (20, 742.1),
    "14": (104, 6975.5),
    "15": (81, 4552.9),
}
"""Number and sum of the figures of each table, from the paper's text."""


def test_the_tables_of_the_paper_are_there_with_all_their_figures() -> None:
    tables = paper().tables
    assert tuple(tables) == TABLES
    found = {
        number: [figure for row in table.rows.values() for figure in row if figure is not None]
        for number, table in tables.items()
    }
    assert {number: (len(all_), round(math.fsum(all_), 1)) for number, all_ in found.items()} == ADDED_UP


def averages() -> list[tuple[str, str, str, float, float]]:
    """Table, model, header, printed average, and the mean of the printed figures that it is over."""
    tables = paper().tables
    found = []
    for number, table in tables.items():
        for column in table.columns:
            other = tables[column.table or number]
            headers = [part for part in column.mean_of if isinstance(part, str)]
            for model, figures in table.rows.items():
                printed = figures[table.columns.index(column)]
                if headers and printed is not None and model in other.rows:
                    cells = [other.figure(model, header) for header in headers]
                    mean = math.fsum(cell for cell in cells if cell is not None) / len(cells)
                    found.append((number, model, column.header, printed, mean))
    return found


def test_printed_averages_are_the_means_of_the_printed_figures() -> None:
    found = averages()
    assert {number for number, *_ in found} == {"1", "2", "3", "4", "6", "7", "14", "15"}
    assert len(found) == 18 + 4 * 6 + 6 + 13 + 9
    # A mean of n figures, each off by up to 0.05, is off by as much itself, and then rounded.
    wrong = {
        (number, model, header): mean
        for number, model, header, printed, mean in found
        if abs(printed - mean) > 0.09
    }
    assert wrong == {place: pytest.approx(mean) for place, mean in PRINTED_OTHERWISE.items()}


def known_scores() -> set[Source]:
    """All scores that the tasks of the project can give."""
    known = set()
    for task in task_names():
        module: Any = get_task(task)
        metrics = {
            value
            for name, value in vars(module).items()
            if name.endswith("METRIC") and isinstance(value, str)
        }
        # What tasks that learn in one language and are tested in others give of the first one.
        metrics |= {"development_accuracy"} if task == "mldoc" else set()
        subsets = [*module.files(module.Options(path=Path("absent"))), *extra_subsets(task)]
        known |= {Source(task, subset, metric) for subset in subsets for metric in metrics}
    return known


def extra_subsets(task: str) -> list[str]:
    """Subsets that are no entry of `files`: groups of languages, and the language that a classifier learns in."""
    groups = getattr(import_module(f"ease.tasks.{task}"), "GROUPS", {})
    return [*(f"{AVERAGE}_{group}" for group in groups), *(["en"] if task == "mldoc" else [])]


def test_every_column_is_a_score_that_a_task_gives() -> None:
    wanted = {
        source
        for table, of in ((number, paper().tables[number]) for number in TABLES)
        for column in of.columns
        for source in paper().sources(table, column.header)
    }
    assert len(wanted) == 10 + 16 + 16 + 1 + 8 + 2 + 4 + 7 + 8
    assert wanted - known_scores() == set()


def test_averages_refer_to_the_scores_that_they_are_over() -> None:
    table_1 = paper().sources("1", "7 STS avg.")
    assert [(source.task, source.subset) for source in table_1] == [
        *(("sts", str(year)) for year in range(2012, 2017)),
        ("stsb", "test"),
        ("sickr", "test"),
    ]
    assert paper().sources("6", "Avg.") == tuple(
        Source("mldoc", code, "accuracy") for code in ("de", "es", "fr", "it", "ja", "ru", "zh")
    )
    assert paper().sources("6", "en (dev)") == (Source("mldoc", "en", "development_accuracy"),)


def test_every_paper_has_a_file_of_its_own() -> None:
    files = sorted((ROOT / "conf" / "base" / "parameters" / "published").iterdir())
    found = {file.stem: list(parameters(f"published/{file.name}")["published"]) for file in files}
    assert found == {name: [name] for name in found}
    assert "ease" in found
    assert str(published()).startswith("ease: tables 1, 2, 3")


def test_encoders_are_the_same_under_any_owner_or_folder() -> None:
    names = ["bert-base-uncased", "google-bert/bert-base-uncased", "/models/bert-base-uncased/"]
    assert {base_name(name) for name in names} == {"bert-base-uncased"}


def small_paper(**changes: Any) -> dict[str, Any]:
    """A paper of one table, with changes to the table."""
    table = {
        "title": "T",
        "score": "accuracy",
        "metric": "accuracy",
        "columns": [
            {"header": "a", "task": "stc", "subset": "agnews"},
            {"header": "Avg.", "mean_of": ["a"]},
        ],
        "rows": {"M": [1.0, 1.0]},
        **changes,
    }
    return {"citation": "C", "short": "S", "models": {"M": {"base": "B"}}, "tables": {1: table}}


def test_a_small_paper_is_read() -> None:
    read = Paper.model_validate(small_paper())
    assert read.sources("1", "Avg.") == (Source("stc", "agnews", "accuracy"),)
    assert read.tables["1"].figure("M", "Avg.") == 1.0


ONE = {"header": "a", "task": "stc", "subset": "agnews"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": {"M": [1.0]}}, "has 2 columns, its row 'M' 1 figures"),
        ({"rows": {"X": [1.0, 1.0]}}, "rows without an entry in `models`: \\['X'\\]"),
        ({"columns": [ONE, {"header": "Avg.", "mean_of": ["b"]}]}, "'T' has no column 'b'"),
        ({"columns": [ONE, {"header": "Avg.", "mean_of": ["Avg."]}]}, "'Avg.' of S refers to itself"),
        ({"columns": [ONE, {"header": "Avg.", "mean_of": ["a"], "table": "9"}]}, "asked of table 9"),
        ({"columns": [ONE, {"header": "b", "task": "stc"}]}, "'b' needs either"),
        ({"columns": [ONE, {**ONE, "header": "b", "mean_of": ["a"]}]}, "'b' needs either"),
        ({"columns": [ONE, ONE]}, "two columns of one name: a, a"),
        ({"metric": ""}, "needs `metric`"),
        ({"colour": "red"}, "Extra inputs are not permitted"),
    ],
)
def test_a_wrong_table_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Published.model_validate({"small": small_paper(**changes)})
