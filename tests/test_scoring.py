"""The tasks that a setting names, and the evaluation sets that they were located with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ease.disk import hash_contents
from ease.errors import EaseError
from ease.scoring import at_paths, chosen_tasks, score_tasks

OPTIONS: dict[str, dict[str, Any]] = {
    "stsb": {"path": "sets/stsb", "subsets": ["dev"]},
    "sample_graded": {"path": "graded.parquet"},
}


def test_a_split_that_is_named_replaces_the_configured_ones() -> None:
    assert chosen_tasks(["stsb", "sample_graded"], OPTIONS) == OPTIONS
    assert chosen_tasks(["stsb:test"], OPTIONS) == {"stsb": {"path": "sets/stsb", "subsets": ("test",)}}
    assert chosen_tasks(["stsb:dev", "stsb:test"], OPTIONS)["stsb"]["subsets"] == ("dev", "test")
    assert OPTIONS["stsb"]["subsets"] == ["dev"]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("stsb:tset", "Options of the task 'stsb'.*Unknown subset tset: choose from train, dev, test"),
        ("sample_graded:dev", "Options of the task 'sample_graded'.*subsets"),
        ("sickr", "No options for the task 'sickr'"),
        ("stbs:dev", "Unknown evaluation task 'stbs': did you mean stsb"),
    ],
)
def test_what_a_reference_names_wrongly_is_told(reference: str, message: str) -> None:
    with pytest.raises(EaseError, match=f"(?s){message}"):
        score_tasks(lambda sentences: pytest.fail("nothing is encoded"), [reference], OPTIONS)


def test_an_evaluation_set_that_has_changed_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "stsb"
    folder.mkdir()
    (folder / "sts-dev.csv").write_text("old")
    located = {"stsb": {"path": str(folder), "sha256": hash_contents(folder)}}
    assert at_paths(OPTIONS, located) == {"stsb": {"path": str(folder), "subsets": ["dev"]}}
    (folder / "sts-dev.csv").write_text("new")
    with pytest.raises(EaseError, match=r"stsb is not the evaluation set 'stsb'.*`acquire_evaluation` again"):
        at_paths(OPTIONS, located)
