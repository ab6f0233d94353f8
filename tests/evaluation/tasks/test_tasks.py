"""Tasks are discovered with their configuration, referred to by name, and their scores are averaged."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ease.encoders.prompts import PROMPT_KINDS
from ease.errors import EaseError
from ease.evaluation.scoring import chosen_tasks, score_tasks, task_options
from ease.evaluation.tasks import Score, average_main_scores, get_task, main_score, task_names
from ease.io.files import read_yaml

CONFIGURATION = Path(__file__).parents[3] / "conf" / "base" / "parameters" / "tasks"


@pytest.mark.parametrize("name", task_names())
def test_each_file_configures_a_task(name: str, tmp_path: Path) -> None:
    written = read_yaml((CONFIGURATION / f"{name}.yml").read_bytes())
    assert [*written, *written["tasks"]] == ["tasks", name]
    task, plain = get_task(name), written["tasks"][name]
    fields = task.Options.model_fields
    assert task.KIND in PROMPT_KINDS
    assert task.METRIC
    assert all(field.description for field in fields.values()), "each option is explained"
    own = {"sets": {"mine": {"file": "mine.csv"}}} if name.startswith("own_") else {}
    options = task_options(name, {name: {**plain, **own, "path": tmp_path / "nowhere"}})
    for subset in set().union(*task.groups.values()):
        assert subset in task.files(task.options(path=tmp_path)), "averages are of subsets"
    first, *_ = (path for paths in task.files(options).values() for path in paths)
    with pytest.raises(EaseError, match=f"^{re.escape(str(first))}: .*; set the task's `path`"):
        task.evaluate(lambda texts: pytest.fail("no file, no texts"), options)
    with pytest.raises(EaseError, match="paht"):
        task_options(name, {name: {**plain, "paht": "x"}})
    if "subsets" in fields:
        with pytest.raises(EaseError, match="Unknown subset none: choose from "):
            task_options(name, {name: {**plain, **own, "subsets": ["none"]}})


def test_tasks_have_equal_weights_for_any_number_of_subsets() -> None:
    scores = [
        *(Score("stsb", "a", "spearman", 10), Score("sickr", "b", "spearman", 80)),
        *(Score("stsb", "c", "spearman", 30), Score("sample_parallel", "a", "retrieval_accuracy", 50)),
        *(Score("sample_parallel", "average", "retrieval_accuracy", 7), Score("stsb", "a", "another", 77)),
    ]
    assert main_score([score for score in scores if score.task == "stsb"]) == 20
    assert average_main_scores(scores) == (20 + 80 + 50) / 3


OPTIONS: dict[str, Any] = {
    "stsb": {"path": "sets/stsb", "subsets": ["dev"]},
    "sample_graded": {"path": "g.parquet"},
}


def test_a_named_split_replaces_the_configured_splits() -> None:
    assert chosen_tasks(["stsb", "sample_graded"], OPTIONS) == OPTIONS
    assert chosen_tasks(["stsb:test"], OPTIONS) == {"stsb": {"path": "sets/stsb", "subsets": ("test",)}}
    for references in (["stsb:dev", "stsb:test"], ["stsb:test", "stsb"]):
        assert chosen_tasks(references, OPTIONS)["stsb"]["subsets"] == ("dev", "test")
    every = {"stsb": {"path": "sets/stsb", "subsets": None}}
    assert chosen_tasks(["stsb", "stsb:test"], every)["stsb"]["subsets"] is None
    with pytest.raises(EaseError, match="Unknown subset xx: choose from"):
        chosen_tasks(["stsb", "stsb:xx"], every)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("stsb:tset", "Options of the task 'stsb'.*Unknown subset tset: choose from train, dev, test"),
        ("sample_parallel:dev", "task 'sample_parallel' has no subsets: name the task alone"),
        ("sickr", "No options for the task 'sickr'"),
        ("stbs:dev", "Unknown evaluation task 'stbs': did you mean sts.*Choose from .*sickr"),
    ],
)
def test_an_invalid_task_reference_is_refused(reference: str, message: str) -> None:
    with pytest.raises(EaseError, match=f"(?s){message}"):
        score_tasks(lambda sentences: pytest.fail("nothing is encoded"), [reference], OPTIONS)
