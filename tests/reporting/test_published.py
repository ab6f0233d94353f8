"""The papers' figures are read, complete, consistent, and refer to scores of our tasks; wrong files are refused."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from kedro.framework.project import pipelines
from pydantic import ValidationError

from ease.evaluation.tasks import AVERAGE, get_task, task_names
from ease.pipeline_registry import SWEEPS
from ease.reporting.published import Published, Source
from tests.contexts import load_catalog
from tests.project import Project
from tests.reporting.made import PARAMETERS, paper, parameters, published

ADDED_UP = {
    "ease": {
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
    },
    "dueam": {
        "1": (54, 3570.7),
        "2": (24, 951.83),
        "3": (36, 2590.5),
        "5a": (12, 752.6),
        "5b": (6, 327.4),
        "6": (12, 1034.75),
        "7": (8, 598.13),
        "8": (9, 782.5),
        "14": (53, 4664.9),
        "15": (133, 11005.3),
        "16": (48, 1826.2),
    },
    "mirror_bert": {
        "2": (50, 3895.7),
        "3": (72, 4035.8),
        "Figure 4": (4, 275.4),
        "7": (5, 364.8),
        "8": (3, 166.2),
        "10": (6, 233.0),
        "12": (10, 732.6),
        "13": (10, 721.9),
        "14": (24, 398.67),
        "16": (63, 1590.2),
        "17": (24, 1313.6),
        "18": (21, 308.8),
        "19": (21, 364.2),
        "20": (64, 4577.7),
    },
    "msimcse": {
        "1": (46, 3867.9),
        "2": (118, 9248.0),
        "3": (46, 2989.0),
        "4": (7, 204.4),
        "5": (6, 519.6),
        "6": (15, 1361.3),
        "8": (15, 1356.6),
    },
}
"""Number and sum of the figures of each table, from the papers' texts."""

PRINTED_OTHERWISE = {
    # Table 14 prints 76.5, which is the mean of its figures.
    ("ease", "1", "SimCSE-RoBERTabase", "7 STS avg."): 76.5,
    # Tables 1 and 14 print 77.0.
    ("ease", "7", "EASE-BERTbase", "STS avg."): 77.0,
}
"""The second figure of averages for which a paper prints two."""

AVERAGES = {
    "ease": {"1": 18, "2": 6, "3": 6, "4": 6, "6": 6, "7": 6, "14": 13, "15": 9},
    "dueam": {},
    "mirror_bert": {"3": 9, "7": 4, "16": 7, "17": 6, "18": 3, "19": 3, "20": 8},
    "msimcse": {},
}
"""Number of averages that each table prints beside their terms."""

SCORES = {
    "ease": 10 + 16 + 16 + 1 + 8 + 2 + 4 + 7 + 8,
    "dueam": 10 + 4 + 4 + 63,
    "mirror_bert": 10 + 7 + 1 + 6 + 14 + 3 + 6,
    "msimcse": 4 + 2 + 10 + 5 + 1 + 7,
}
"""Number of scores in the tables of each paper."""


@pytest.mark.parametrize("name", ADDED_UP)
def test_the_tables_of_a_paper_are_there_with_all_their_figures(name: str) -> None:
    tables = published().root[name].tables
    found = {
        number: [figure for row in table.rows.values() for figure in row if figure is not None]
        for number, table in tables.items()
    }
    sums = {number: (len(all_), round(math.fsum(all_), 2)) for number, all_ in found.items()}
    assert list(sums.items()) == list(ADDED_UP[name].items())
    assert {row for table in tables.values() for row in table.rows} == set(published().root[name].models)


def averages(name: str) -> list[tuple[str, str, str, float, float]]:
    """Return tuples of table, model, header, printed average, and the mean of its printed terms."""
    tables = published().root[name].tables
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


@pytest.mark.parametrize("name", ADDED_UP)
def test_printed_averages_are_the_means_of_the_printed_figures(name: str) -> None:
    found = averages(name)
    assert Counter(number for number, *_ in found) == AVERAGES[name]
    # A mean of figures that are rounded to 0.05 has the same error, and is rounded once more.
    wrong = {
        (name, number, model, header): mean
        for number, model, header, printed, mean in found
        if abs(printed - mean) > 0.09
    }
    known = {place: mean for place, mean in PRINTED_OTHERWISE.items() if place[0] == name}
    assert wrong == {place: pytest.approx(mean) for place, mean in known.items()}


def figures(name: str, number: str, model: str) -> dict[Source, float]:
    """A model's figures in a table that are single scores."""
    found = published().root[name]
    table = found.tables[number]
    single = {column.header: found.sources(number, column.header) for column in table.columns if column.task}
    values = {source: table.figure(model, header) for header, (source,) in single.items()}
    return {source: value for source, value in values.items() if value is not None}


QUOTED = [
    (("msimcse", "2", "DuEAM (unsupervised)"), ("dueam", "14", "DuEAMunsupv"), 2),
    (("msimcse", "2", "DuEAM (unsupervised)"), ("dueam", "5a", "DuEAMunsupv"), 4),
    (
        ("msimcse", "2", "DuEAM (unsupervised, with KA and AM)"),
        ("dueam", "5b", "DuEAMunsupv, trained on EN-KA and EN-AM"),
        2,
    ),
    (
        ("msimcse", "2", "DuEAM (cross-lingual NLI, with KA and AM)"),
        ("dueam", "5b", "DuEAMwklysupv, trained on EN-KA and EN-AM"),
        2,
    ),
    (("msimcse", "2", "DuEAM (cross-lingual NLI)"), ("dueam", "14", "DuEAMwklysupv"), 2),
    (("msimcse", "2", "DuEAM (cross-lingual NLI)"), ("dueam", "5a", "DuEAMwklysupv"), 4),
    (
        ("msimcse", "3", "DuEAM (cross-lingual NLI, EN-DE)"),
        ("dueam", "2", "DuEAMwklysupv, trained on EN-DE"),
        5,
    ),
    (("dueam", "1", "mBERT mean"), ("ease", "2", "mBERTbase (avg.)"), 6),
    (("mirror_bert", "10", "BERT-mp"), ("mirror_bert", "16", "BERT-mp of each language"), 1),
    (
        ("mirror_bert", "10", "BERT + Mirror (words)"),
        ("mirror_bert", "16", "BERT + Mirror of each language"),
        1,
    ),
]
"""Rows of two tables that print the same figures, and in how many columns."""


@pytest.mark.parametrize(("one", "other", "shared"), QUOTED)
def test_figures_that_one_table_takes_from_another_are_the_same(
    one: tuple[str, str, str], other: tuple[str, str, str], shared: int
) -> None:
    taken, source = figures(*one), figures(*other)
    both = taken.keys() & source.keys()
    assert len(both) == shared
    # Tables of two decimals are quoted with one.
    assert {score: taken[score] for score in both} == pytest.approx(
        {score: source[score] for score in both}, abs=0.0501
    )


def known_scores() -> set[Source]:
    """All scores that the tasks of the project can give."""
    known = set()
    for name in task_names():
        task = get_task(name)
        given = parameters(f"tasks/{name}.yml")["tasks"][name]
        sets = {"sets": {"mine": {"file": "mine.csv"}}} if name.startswith("own_") else {}
        chosen = {"subsets": None} if "subsets" in given else {}
        options = task.options(**{**given, **sets, **chosen, "path": Path("absent")})
        # Groups have no files of their own; a classifier is scored in the language of its training, too.
        further = [*(f"{AVERAGE}_{group}" for group in task.groups), *(["en"] if name == "mldoc" else [])]
        known |= {
            Source(name, subset, metric)
            for subset in (*task.files(options), *further)
            for metric in task.METRICS
        }
    return known


@pytest.mark.parametrize("name", ADDED_UP)
def test_every_column_is_a_score_that_a_task_gives(name: str) -> None:
    found = published().root[name]
    wanted = {
        source
        for number, table in found.tables.items()
        for column in table.columns
        for source in found.sources(number, column.header)
    }
    assert len(wanted) == SCORES[name]
    assert wanted - known_scores() == set()


def test_every_counterpart_is_a_method_or_the_variant_of_a_sweep_of_the_paper(bare: Project) -> None:
    catalog = load_catalog(bare, "paper")
    trained = {name.split(".")[1] for name in pipelines["report"].inputs() if name.endswith(".scores")}
    sweeps = [catalog.load(f"params:{name}") for name in SWEEPS]
    titles = {variant.title for sweep in sweeps for variant in sweep.all_variants()}
    titles |= {title for sweep in sweeps for title in sweep.joined}
    named = {
        name
        for found in published().root.values()
        for model in found.models.values()
        for name in (model.method, *model.variants)
        if name
    }
    assert {"mirror_bert", "dueam", "msimcse", "- span mask", "mirror words"} <= named
    assert named - trained - titles == set()


def test_every_paper_has_its_own_file_and_eases_is_first() -> None:
    files = sorted((PARAMETERS / "published").iterdir())
    found = {file.stem: list(parameters(f"published/{file.name}")["published"]) for file in files}
    assert found == {name: [name] for name in sorted(ADDED_UP)}
    assert list(published().root) == ["ease", "dueam", "mirror_bert", "msimcse"]
    assert str(published()).startswith("ease: tables 1, 2, 3")


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


def small_paper(**changes: Any) -> dict[str, Any]:
    """Return a paper with one table, with the given changes."""
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


ONE = {"header": "a", "task": "stc", "subset": "agnews"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": {"M": [1.0]}}, "has 2 columns, but its row 'M' has 1 scores"),
        ({"rows": {"X": [1.0, 1.0]}}, "rows without an entry in `models`: \\['X'\\]"),
        ({"columns": [ONE, {"header": "Avg.", "mean_of": ["b"]}]}, "'T' has no column 'b'"),
        ({"columns": [ONE, {"header": "Avg.", "mean_of": ["Avg."]}]}, "'Avg.' of S refers to itself"),
        (
            {"columns": [ONE, {"header": "Avg.", "mean_of": ["a"], "table": "9"}]},
            "refers to table 9, which does",
        ),
        ({"columns": [ONE, {"header": "b", "task": "stc"}]}, "'b' needs either"),
        ({"columns": [ONE, ONE]}, "columns of the same name: a, a"),
        ({"metric": ""}, "needs `metric`"),
    ],
)
def test_a_wrong_table_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Published.model_validate({"small": small_paper(**changes)})
