"""Evaluation sets are located, reported missing, and refused after a change."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from ease.errors import EaseError
from ease.evaluation.scoring import select_tasks
from ease.evaluation.sets import LocatedSet, locate_sets, located_parameters, require_sets, scorable
from tests.evaluation.made_tasks import task_parameters


@pytest.fixture
def options(tmp_path: Path) -> dict[str, dict[str, Any]]:
    """STS Benchmark without its test split, and no SICK at all."""
    (tmp_path / "stsb").mkdir()
    for split in ("train", "dev"):
        (tmp_path / "stsb" / f"sts-{split}.csv").write_text(split)
    return {name: task_parameters(name, tmp_path / name) for name in ("stsb", "sickr")}


def test_present_files_are_located_and_missing_files_listed_with_their_source(
    options: dict[str, dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        located = locate_sets(select_tasks(["stsb", "sickr:test"], options))
    assert list(located["stsb"].subsets) == ["train", "dev"]
    assert located["stsb"].missing == {"test": ("sts-test.csv",)}
    assert located["sickr"].subsets == {}
    assert located["sickr"].missing == {"test": ("SICK_test_annotated.txt",)}
    stsb, sickr = (record.getMessage() for record in caplog.records)
    assert "stsb: 1 of 3 subsets cannot be scored: sts-test.csv missing" in stsb
    assert "sickr: 1 of 1 subsets" in sickr
    assert scorable(["stsb", "stsb:dev", "stsb:test", "sickr:test"], located) == ["stsb", "stsb:dev"]


def test_the_data_version_depends_only_on_the_scored_subset(options: dict[str, dict[str, Any]]) -> None:
    before = locate_sets(select_tasks(["stsb"], options))["stsb"]
    (Path(options["stsb"]["path"]) / "sts-dev.csv").write_text("another")
    after = locate_sets(select_tasks(["stsb"], options))["stsb"]
    changed = {subset: before.version(subset) != after.version(subset) for subset in ("train", "dev", "average")}
    assert changed == {"train": False, "dev": True, "average": True}


def test_faulty_subsets_are_left_out_and_missing_ones_stay_wanted(tmp_path: Path) -> None:
    files = {"train": ("sts-train.csv",), "dev": ("sts-dev.csv",)}
    found = LocatedSet(path=tmp_path, subsets=files, sha256={}, missing={"test": ("t.csv",)}, faults={"dev": "broken"})
    for configured, wanted in ((None, ("train", "test")), (["dev", "train"], ("train",)), ("dev train", ("train",))):
        assert located_parameters({"stsb": {"subsets": configured}}, {"stsb": found})["stsb"]["subsets"] == wanted
    assert located_parameters({}, {"stsb": found}) == {}, "the project has the task no more"


def test_other_files_than_those_located_are_refused(tmp_path: Path) -> None:
    own = {"kind": "graded_pairs", "path": str(tmp_path), "file": "{subset}.tsv", "names": "a b"}
    columns = {"columns": {"left": "x", "right": "y", "score": "z"}}
    for name in ("a.tsv", "b.tsv", "c.tsv"):
        (tmp_path / name).write_text("x\ty\tz\n")
    tasks = {"own": {**own, **columns}}
    located = locate_sets(select_tasks(["own"], tasks))
    assert located_parameters({"own": {**tasks["own"], "names": "a"}}, located)
    with pytest.raises(EaseError, match=r"`tasks\.own` names other files of a, b than those located.*acquire_eval"):
        located_parameters({"own": {**tasks["own"], "file": "c.tsv"}}, located)


@pytest.mark.parametrize("deleted", [True, False])
def test_a_changed_evaluation_set_is_refused(options: dict[str, dict[str, Any]], deleted: bool) -> None:
    located = locate_sets(select_tasks(["stsb:dev"], options))
    file = Path(options["stsb"]["path"]) / "sts-dev.csv"
    assert located_parameters(options, located)["stsb"] == {**options["stsb"], "path": str(file.parent)}
    if deleted:
        file.unlink()
    else:
        file.write_text("new")
    with pytest.raises(EaseError, match=r"sts-dev\.csv of the evaluation set 'stsb'.*`acquire_evaluation` again"):
        located_parameters(options, located)


def test_training_without_a_development_set_or_its_location_is_refused(options: dict[str, dict[str, Any]]) -> None:
    located = locate_sets(select_tasks(["stsb", "sickr"], options))
    require_sets(["stsb:dev"], located, options)
    with pytest.raises(EaseError, match=r"development task .* lacks sts-test.csv in .*https://.*other `dev_tasks`"):
        require_sets(["stsb:test"], located, options)
    for asked in (lambda: scorable(["stsb"], {}), lambda: require_sets(["stsb:dev"], {}, options)):
        with pytest.raises(EaseError, match="'stsb' is not located yet: run the pipeline `acquire_evaluation`"):
            asked()
