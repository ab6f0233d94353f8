"""Tasks are built from parameters, referred to by name, and their scores are averaged."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ease.encoders.prompts import TASK_TYPES
from ease.errors import EaseError
from ease.evaluation.scores import Score, average_main_scores, main_score
from ease.evaluation.scoring import check_kinds, select_parameters, select_tasks
from ease.evaluation.tasks import build_task, package_tasks
from ease.io.files import read_yaml
from ease.similarity.encode import Encode
from tests.evaluation.made_tasks import make_task

CONFIGURATION = Path(__file__).parents[3] / "conf" / "base" / "parameters" / "tasks"


@pytest.mark.parametrize("name", sorted(package_tasks()))
def test_each_file_configures_a_task(name: str, tmp_path: Path) -> None:
    written = read_yaml((CONFIGURATION / f"{name}.yml").read_bytes())
    assert [*written, *written["tasks"]] == ["tasks", name]
    plain = written["tasks"][name]
    own = {"sets": {"mine": {"file": "mine.csv"}}} if name.startswith("own_") else {}
    task = build_task(name, {**plain, **own, "path": tmp_path / "nowhere"})
    fields = task.Options.model_fields
    assert task.task_type in TASK_TYPES
    assert task.metrics[0]
    assert all(field.description for field in fields.values()), "each option is explained"
    for subset in set().union(*task.groups.values()):
        assert subset in make_task(name, tmp_path).files(), "averages are of subsets"
    first, *_ = (path for paths in task.files().values() for path in paths)
    with pytest.raises(EaseError, match=f"^{re.escape(str(first))}: .*; set the task's `path`"):
        task.evaluate(lambda texts: pytest.fail("no file, no texts"))
    with pytest.raises(EaseError, match="paht"):
        build_task(name, {**plain, "paht": "x"})
    if "subsets" in fields:
        with pytest.raises(EaseError, match="Unknown subset none: choose from "):
            build_task(name, {**plain, **own, "subsets": ["none"]})


def test_tasks_have_equal_weights_for_any_number_of_subsets() -> None:
    def score(task: str, subset: str, value: float, main: bool = True) -> Score:
        return Score(task, subset, "spearman" if main else "another", value, main=main)

    scores = [
        *(score("stsb", "a", 10), score("sickr", "b", 80), score("stsb", "c", 30), score("sample_parallel", "a", 50)),
        *(score("sample_parallel", "average", 7), score("stsb", "a", 77, main=False)),
    ]
    assert main_score([score for score in scores if score.task == "stsb"]) == 20
    assert average_main_scores(scores) == (20 + 80 + 50) / 3


TASKS: dict[str, Any] = {
    **{
        name: parameters for name, parameters in package_tasks().items() if name in ("sample_graded", "sample_parallel")
    },
    "stsb": {**package_tasks()["stsb"], "path": "sets/stsb", "subsets": ["dev"]},
}


def test_a_named_split_replaces_the_configured_splits() -> None:
    stsb = TASKS["stsb"]
    both = {"stsb": stsb, "sample_graded": TASKS["sample_graded"]}
    assert select_parameters(["stsb", "sample_graded"], TASKS) == both
    assert select_parameters(["stsb:test"], TASKS) == {"stsb": {**stsb, "subsets": ("test",)}}
    for references in (["stsb:dev", "stsb:test"], ["stsb:test", "stsb"]):
        assert select_parameters(references, TASKS)["stsb"]["subsets"] == ("dev", "test")
    every = {"stsb": {**stsb, "subsets": None}}
    assert select_parameters(["stsb", "stsb:test"], every)["stsb"]["subsets"] is None
    with pytest.raises(EaseError, match="Unknown subset xx: choose from"):
        select_parameters(["stsb", "stsb:xx"], every)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("stsb:tset", "Options of the task 'stsb'.*Unknown subset tset: choose from train, dev, test"),
        ("sample_parallel:dev", "task 'sample_parallel' has no subsets: name the task alone"),
        ("stbs:dev", "Unknown evaluation task 'stbs': did you mean stsb.*Choose from .*sample_graded"),
    ],
)
def test_an_invalid_task_reference_is_refused(reference: str, message: str) -> None:
    with pytest.raises(EaseError, match=f"(?s){message}"):
        select_tasks([reference], TASKS)


def test_a_task_without_a_kind_or_of_an_unknown_one_is_refused() -> None:
    with pytest.raises(EaseError, match="Options of the task 'mine': `kind` is missing: give one of audit, bel"):
        build_task("mine", {"path": "mine"})
    with pytest.raises(EaseError, match="Options of the task 'mine': Unknown kind .*'queris': did you mean queries"):
        build_task("mine", {"kind": "queris", "path": "mine"})
    check_kinds(TASKS)
    with pytest.raises(EaseError, match=r"`tasks\.stbs` is no task, since it has no `kind`: did you mean stsb"):
        check_kinds({**TASKS, "stbs": {"subsets": ["test"]}})


def test_overridden_groups_and_source_have_effect(tmp_path: Path, encode: Encode) -> None:
    for subset in ("en-de", "en-fr"):
        left, _, right = subset.partition("-")
        lines = "".join(f"a b\t{text}\t{grade}\n" for text, grade in (("a b", 5), ("b c", 3), ("c d", 1)))
        (tmp_path / f"STS.{left}-{right}.txt").write_text(lines, encoding="utf-8")
    groups = {"mine": ["en-de", "en-fr"], "more": "en-de en-it"}
    task = make_task("sts17", tmp_path, groups=groups, source="my shelf")
    scores = {score.subset: score for score in task.evaluate(encode)}
    assert [name for name in scores if name.startswith("average")] == ["average", "average_mine", "average_more"]
    assert scores["average_mine"].value == np.mean([scores["en-de"].value, scores["en-fr"].value])
    assert scores["average_more"].note == "1 of 2 subsets"
    assert task.options.source == "my shelf"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "`columns` are missing"),
        ({"columns": {"left": "first"}}, "`columns` lack 'right'"),
        ({"columns": {"left": 0, "right": 1}, "format": "tsv"}, "numbered from 1, and -1 is the last"),
        ({"columns": {"left": 0, "right": 1}, "format": "lines"}, "files of lines are the files' numbers, from 1"),
        ({"columns": {"left": "first", "right": "last"}, "groups": {"g": ["sett"]}}, "`groups.g` has no set 'sett'"),
        (
            {"columns": {"left": "first", "right": "first"}},
            "the set 'set': `columns` have 'first' for left",
        ),
        (
            {"columns": {"left": 2, "right": 2}},
            "`columns` have 2 for left and for right: give each a column of its own",
        ),
        ({"columns": {"left": ["first", "last"], "right": "first"}}, "`columns` have 'first' for left and for right"),
        (
            {"columns": {"left": "first", "right": 2}},
            "names and numbers (left: first, right: 2): give the names of all",
        ),
        (
            {"columns": {"left": ["one", "1"], "right": ["last"]}},
            "pairs.csv, line 2: no column one, 1; give the left's",
        ),
        (
            {"columns": {"left": "first", "right": "last"}, "skip": 1},
            "`skip` is for csv and tsv files whose columns are",
        ),
        ({"columns": {"left": 1, "right": 2}, "skip": 1, "format": "lines"}, "`skip` is for csv and tsv files whose"),
        ({"columns": {"left": 1, "right": 2}, "format": "jsonl"}, "`columns` of a jsonl file are names, not numbers"),
        (
            {"columns": {"left": 1, "right": 2}, "sets": {"set": {"file": ["pairs.csv"] * 2, "format": "lines"}}},
            "pairs.csv twice: name different files",
        ),
    ],
)
def test_columns_and_groups_that_do_not_exist_are_refused(
    options: dict[str, Any], message: str, tmp_path: Path, encode: Encode
) -> None:
    (tmp_path / "pairs.csv").write_text("first,last\na,a\nb,b\n", encoding="utf-8")
    parameters = {"kind": "parallel_sentences", "path": tmp_path, "sets": {"set": {"file": "pairs.csv"}}, **options}
    with pytest.raises(EaseError, match=re.escape(message)):
        build_task("mine", parameters).evaluate(encode)


@pytest.mark.parametrize("name", ["", " ", "all", "../x", "x/..", ".", "a:b", "a@10", "my task", "de→en", 2024, None])
def test_a_task_has_a_name_that_references_and_files_can_have(name: Any) -> None:
    message = f"^A task may not be named {re.escape(repr(name))}: give a name of letters, digits"
    parameters = {"kind": "graded_pairs", "path": "pairs"}
    with pytest.raises(EaseError, match=message):
        build_task(name, parameters)
    with pytest.raises(EaseError, match=message):
        check_kinds({**TASKS, name: parameters})
    with pytest.raises(EaseError, match=message):
        package_tasks({name: parameters})


@pytest.mark.parametrize("format_name", ["csv", "parquet"])
def test_the_first_column_that_a_file_has_is_read(format_name: str, tmp_path: Path, encode: Encode) -> None:
    pairs = {"a": ["one", "two"], "b": ["eins", "zwei"]}
    if format_name == "csv":
        (tmp_path / "pairs.csv").write_text("a,b\none,eins\ntwo,zwei\n", encoding="utf-8")
    else:
        pq.write_table(pa.table(pairs), tmp_path / "pairs.parquet")
    columns = {"left": ["x", "a"], "right": ["b", "x"]}
    sets = {"set": {"file": f"pairs.{format_name}"}}
    task = build_task("mine", {"kind": "parallel_sentences", "path": tmp_path, "sets": sets, "columns": columns})
    assert task.read("set", task.files()["set"]) == (pairs["a"], pairs["b"])


def test_the_first_of_overridden_metrics_is_the_main_one(tmp_path: Path, encode: Encode) -> None:
    lines = "".join(f"{label}\t{label} {number}\n" for label in ("sport", "money") for number in range(6))
    (tmp_path / "agnews.txt").write_text(lines, encoding="utf-8")
    task = make_task("stc", tmp_path, metrics=["purity", "accuracy"], subsets=("agnews",))
    purity, accuracy = task.evaluate(encode)[:2]
    assert (purity.metric, purity.main, purity.task_type) == ("purity", True, "Clustering")
    assert (accuracy.metric, accuracy.main) == ("accuracy", False)
