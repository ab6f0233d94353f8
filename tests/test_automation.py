"""Workflows, containers and the citation agree with the Makefile, the declared Pythons and the version."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import ease

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
DECLARED_PYTHONS = {
    classifier.rsplit(" ", 1)[1] for classifier in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", classifier)
}


def jobs(workflow: Path) -> dict[str, Any]:
    """Return the jobs of a workflow by their names."""
    return dict(yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"])


def steps_with(key: str) -> list[str]:
    """Return a value of all steps of all workflows, such as what they run."""
    every = [step for workflow in WORKFLOWS for job in jobs(workflow).values() for step in job["steps"]]
    return [step[key] for step in every if key in step]


def test_automation_makes_existing_goals() -> None:
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    commands = [*steps_with("run"), container["postCreateCommand"]]
    commands += [attributes["label"] for attributes in container["portsAttributes"].values()]
    goals = {goal for command in commands for goal in re.findall(r"\bmake ([a-z-]+)", command)}
    assert {"setup-dev", "test", "test-all", "test-data", "docs", "lock"} <= goals
    done = subprocess.run(["make", "-n", *sorted(goals)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("workflow", "job"), [("checks", "test"), ("nightly", "test-all")])
def test_tests_run_with_every_declared_python(workflow: str, job: str) -> None:
    matrix = jobs(ROOT / ".github" / "workflows" / f"{workflow}.yml")[job]["strategy"]["matrix"]
    assert set(matrix["python"]) == DECLARED_PYTHONS


def test_image_copies_what_the_wheel_needs() -> None:
    copied = set()
    for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines():
        if line.startswith("COPY ") and "--from" not in line:
            copied |= set(line.split()[1:-1])
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    needed = {*targets["targets"]["wheel"]["force-include"], *targets["targets"]["wheel"]["packages"]}
    needed |= {PROJECT["readme"], *PROJECT["license-files"], "pyproject.toml"}
    assert {path.split("/")[0] for path in needed} <= copied
    permitted = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {f"!{name}" for name in copied} <= set(permitted)
    assert "conf/local" in permitted


def test_actions_and_images_are_pinned_by_their_hashes() -> None:
    used = steps_with("uses")
    assert [action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action)] == []
    files = [(ROOT / name).read_text("utf-8") for name in ("Dockerfile", ".devcontainer/Dockerfile")]
    images = [line.split()[1] for line in "\n".join(files).splitlines() if line.startswith("FROM ")]
    assert [image for image in images if not re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", image)] == []
    assert len(used) > len(images) > 2


def test_citation_has_the_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == ease.__version__
    assert citation["license"] == PROJECT["license"]
