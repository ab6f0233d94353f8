"""References to tasks in a setting select subsets."""

from __future__ import annotations

from typing import Any

import pytest

from ease.errors import EaseError
from ease.evaluation.scoring import chosen_tasks, score_tasks

OPTIONS: dict[str, dict[str, Any]] = {
    "stsb": {"path": "sets/stsb", "subsets": ["dev"]},
    "sample_graded": {"path": "graded.parquet"},
}


def test_a_named_split_replaces_the_configured_splits() -> None:
    assert chosen_tasks(["stsb", "sample_graded"], OPTIONS) == OPTIONS
    assert chosen_tasks(["stsb:test"], OPTIONS) == {"stsb": {"path": "sets/stsb", "subsets": ("test",)}}
    assert chosen_tasks(["stsb:dev", "stsb:test"], OPTIONS)["stsb"]["subsets"] == ("dev", "test")
    assert OPTIONS["stsb"]["subsets"] == ["dev"]


def test_a_task_named_with_and_without_a_subset_has_all_subsets() -> None:
    assert chosen_tasks(["stsb:test", "stsb"], OPTIONS)["stsb"]["subsets"] == ("dev", "test")
    every = {"stsb": {"path": "sets/stsb", "subsets": None}}
    assert chosen_tasks(["stsb", "stsb:test"], every)["stsb"]["subsets"] is None


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("stsb:tset", "Options of the task 'stsb'.*Unknown subset tset: choose from train, dev, test"),
        ("sample_parallel:dev", "task 'sample_parallel' has no subsets: name the task alone"),
        ("sickr", "No options for the task 'sickr'"),
        ("stbs:dev", "Unknown evaluation task 'stbs': did you mean sts"),
    ],
)
def test_an_invalid_task_reference_is_refused(reference: str, message: str) -> None:
    with pytest.raises(EaseError, match=f"(?s){message}"):
        score_tasks(lambda sentences: pytest.fail("nothing is encoded"), [reference], OPTIONS)
