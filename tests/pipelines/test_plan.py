"""`kedro run --pipelines=plan` says what a job would cost, and does none of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ease.pipelines.plan.costs import pairs_cost
from tests.project import Project, make_project


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project in which `teach` was planned."""
    made = make_project(tmp_path_factory.mktemp("planned"))
    steps = {"teach__ease_plus__training__max_steps": 400}
    made.run("plan", plan__of="teach", plan__seconds=0.5, teach__language="eo", **steps)
    return made


@pytest.mark.slow
def test_a_plan_has_the_costs_of_each_stage_and_does_nothing(planned: Project) -> None:
    plan = planned.json("08_reporting/plan.json")
    costs = {cost["stage"]: cost for cost in plan["costs"]}
    assert list(costs) == [
        "download",
        "parse the dumps",
        "pairs and hard negatives",
        "train mlm",
        "train ease_plus",
    ]
    assert costs["parse the dumps"]["amount"].endswith(" pages")
    assert costs["train ease_plus"]["hours"] > 0
    assert costs["train mlm"]["hours"] > 0
    assert "400 steps of" in costs["train ease_plus"]["amount"]
    assert plan["facts"]["Languages"] == "eo, en"
    assert not list((planned.folder / "data").glob("06_models/teach/*"))
    page = (planned.folder / "data/08_reporting/latest_plan.md").read_text("utf-8")
    assert page.startswith("# Plan of teach")


@pytest.mark.slow
def test_a_plan_lists_what_is_there(project: Project, tmp_path: Path) -> None:
    copy = project.copy(tmp_path / "copy")
    copy.run("plan", plan__of="train_multilingual", plan__seconds=0.5)
    there = "\n".join(copy.json("08_reporting/plan.json")["there"])
    assert "dump of en: " in there
    assert "parsed parts of ja: " in there
    assert "training pairs of the last run: ar " in there
    assert "trained encoder of ease_plus: " in there


@pytest.mark.slow
def test_a_wrong_language_or_job_is_refused(planned: Project) -> None:
    wrong = planned.run("plan", check=False, plan__of="teach", teach__language="xq")
    assert "Unknown language 'xq' in `teach.language`" in wrong.stderr
    unknown = planned.run("plan", check=False, plan__of="everything")
    assert "Unknown job of `plan.of` 'everything'" in unknown.stderr


@pytest.mark.parametrize(("limit", "gigabytes"), [("4GB", 4.0), ("32GB", 32.0), ("80%", 63.0)])
def test_a_plan_needs_no_more_than_the_memory_limit(limit: str, gigabytes: float) -> None:
    assert pairs_cost(10**9, limit).row()["memory_gb"] == gigabytes
