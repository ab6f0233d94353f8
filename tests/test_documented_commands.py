"""Every command of the documents exists; its names and options are resolved without a run."""

from __future__ import annotations

import json
import re
import subprocess
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import pytest
from kedro.framework.cli.project import run as kedro_run
from kedro.io.core import is_parameter
from kedro.pipeline import Pipeline

from ease.pipeline_registry import register_pipelines
from ease.pipelines.acquire_evaluation.checks import check_tasks
from ease.pipelines.evaluate.options import EvaluateOptions
from ease.pipelines.setting import Setting
from tests.contexts import open_context
from tests.documented import Documented, documented_commands
from tests.project import ROOT, Project, make_project

PLACEHOLDERS = {
    "multilingual.<name>": "multilingual.simcse",
    "evaluate.tasks=<name>": "evaluate.tasks=stsb",
    ",…": "",
    "--params=…": "--params=seed=1",
}
"""Values for the placeholders of documents."""

ELSEWHERE = ("--packages", "--conf", "kedro airflow")
"""First words of commands of programs that the project does not install: spark-submit, kedro-airflow."""

PIPELINES = register_pipelines()
COMMANDS = documented_commands()
RUN_OPTIONS = {name for option in kedro_run.params for name in option.opts}


def filled(command: Documented) -> list[str]:
    """Return a command's words with values for its placeholders."""
    words = [word for word in command.words if word != "…"]
    for placeholder, value in PLACEHOLDERS.items():
        words = [word.replace(placeholder, value) for word in words]
    return words


def options_of(words: list[str]) -> list[str]:
    return [word.partition("=")[0] for word in words if word.startswith("--")]


def kind_of(words: list[str]) -> str:
    """Return the program of a command; options alone belong to `kedro run` if it has them, else to a benchmark."""
    if words[0].startswith("--"):
        return "kedro run" if set(options_of(words)) <= RUN_OPTIONS else "options"
    if re.match(r"[a-z_.]+=", words[0]):
        return "kedro run"
    return "module" if "-m" in words else " ".join(words[:2]) if words[0] == "kedro" else words[0]


def of_kind(*kinds: str) -> list[Any]:
    return [
        pytest.param(filled(command), id=str(command))
        for command in COMMANDS
        if kind_of(filled(command)) in kinds and not " ".join(command.words).startswith(ELSEWHERE)
    ]


def test_every_command_has_a_known_program() -> None:
    kinds = {kind_of(filled(command)) for command in COMMANDS}
    # `kedro registry list` is run below.
    known = {"kedro run", "make", "module", "options", "torchrun", "kedro airflow", "kedro registry"}
    assert {kind for kind in kinds - known if not (ROOT / kind).exists()} == set()
    assert len(COMMANDS) > 80, "fewer than there were: documents are not read as they were"


@pytest.mark.parametrize("words", of_kind("kedro run"))
def test_a_run_has_its_pipelines_nodes_parameters_and_datasets(words: list[str], bare: Project) -> None:
    flag = [] if words[0] == "kedro" or words[0].startswith("--") else ["--params"]
    arguments = words[2:] if words[0] == "kedro" else [*flag, *words]
    with kedro_run.make_context("kedro run", arguments) as context:
        given = context.params
    assert given["env"] is None or (ROOT / "conf" / given["env"]).is_dir()
    alone = [
        [name] for name in ("train_monolingual", "train")
    ]  # options alone go with a pipeline of the text
    wanted = [given["pipelines"] or ["__default__"]] if words[0] == "kedro" else alone
    nodes = chosen_nodes(wanted, given)
    assert nodes.nodes
    assert set(given["load_versions"] or {}) <= nodes.datasets()
    resolve_parameters(bare, given["env"], given["params"], nodes)


def chosen_nodes(candidates: list[list[str]], given: dict[str, Any]) -> Pipeline:
    """Return the nodes selected by tags and namespaces from the first sum of pipelines that has any."""
    for names in candidates:
        summed = sum((PIPELINES[name] for name in names), Pipeline([]))
        with suppress(ValueError):  # Kedro raises it if no node is selected
            return summed.filter(tags=given["tags"] or None, node_namespaces=given["namespaces"] or None)
    return Pipeline([])


def resolve_parameters(project: Project, env: str | None, given: dict[str, Any], nodes: Pipeline) -> None:
    """Load the parameters that nodes read, which validates them by their options classes."""
    loaded = load_parameters(project, env, json.dumps(given))
    tasks = loaded["params:tasks"]
    check_tasks([*given.get("tasks", {})], tasks)
    for value in (loaded[name] for name in nodes.inputs() if is_parameter(name)):
        if isinstance(value, EvaluateOptions):
            check_tasks(value.references(()), tasks)
        if isinstance(value, Setting):
            check_tasks((*value.dev_tasks, *value.test_tasks), tasks)


@cache
def load_parameters(project: Project, env: str | None, given: str) -> dict[str, Any]:
    """Load the parameters of all pipelines, once for all commands that give the same."""
    read = {name for pipeline in PIPELINES.values() for name in pipeline.inputs() if is_parameter(name)}
    with open_context(project, env, json.loads(given)) as context:
        catalog = context.catalog
        return {name: catalog.load(name) for name in read}


@pytest.mark.parametrize("words", of_kind("make"))
def test_make_has_the_target(words: list[str]) -> None:
    variables = {word.partition("=")[0] for word in words if "=" in word}
    assert all(
        re.search(rf"^{name} \??:?=", (ROOT / "Makefile").read_text("utf-8"), re.M) for name in variables
    )
    done = subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in re.findall(r"BENCHMARKS=(\S+)", " ".join(words)):
        assert find_spec(f"benchmarks.{name}")


@pytest.mark.parametrize("words", of_kind("module"))
def test_a_module_is_there_with_its_options(words: list[str]) -> None:
    module = words[words.index("-m") + 1]
    spec = find_spec(f"{module}.__main__" if module == "ease.training" else module)
    assert spec is not None
    assert spec.origin is not None
    own = options_of(words[words.index("-m") + 2 :])
    assert set(own) <= defined_options(Path(spec.origin))


@pytest.mark.parametrize("words", of_kind("options"))
def test_options_without_a_command_belong_to_a_benchmark(words: list[str]) -> None:
    benchmarks = (ROOT / "benchmarks").glob("*.py")
    assert any(set(options_of(words)) <= defined_options(path) for path in benchmarks)


def defined_options(path: Path) -> set[str]:
    """Return the options that a module's parser defines, and the negation of flags."""
    text = path.read_text(encoding="utf-8")
    options = set(re.findall(r"\"(--[a-z-]+)\"", text))
    negated = {option.replace("--", "--no-", 1) for option in options if "BooleanOptionalAction" in text}
    return options | negated


def test_an_invented_command_is_refused(bare: Project) -> None:
    for arguments in (["--pipeline"], ["--pipelin=train"]):
        with pytest.raises(click.UsageError):
            kedro_run.make_context("kedro run", arguments)
    nodes = PIPELINES["train"]
    for given in (
        {"_dueam": "weakly"},
        {"_duem": "unsupervised"},
        {"multilingual": {"eaze": {"method": "x"}}},
    ):
        with pytest.raises(Exception, match="choose|did you mean"):
            resolve_parameters(bare, None, given, nodes)
    with pytest.raises(Exception, match="step"):
        resolve_parameters(bare, None, {"multilingual": {"ease": {"training": {"step": 1}}}}, nodes)
    with pytest.raises(Exception, match="Unknown evaluation task 'stsx'"):
        resolve_parameters(bare, None, {"evaluate": {"tasks": "stsx"}}, PIPELINES["evaluate"])


def test_the_quick_ones_run(tmp_path: Path) -> None:
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = {words[1] for words in map(str.split, listed.splitlines()) if words[:1] == ["make"]}
    documented = {
        command.words[1] for command in COMMANDS if command.words[0] == "make" and command.words[1:]
    }
    assert documented <= targets
    project = make_project(tmp_path)
    assert set(PIPELINES) <= set(re.findall(r"[\w]+", project.kedro("registry", "list", start=False).stdout))
    project.kedro("run", "--pipelines=mewsc16", start=False)
    assert project.versions("05_model_input/mewsc16/mewsc16") or list(
        tmp_path.glob("data/05_model_input/**/mewsc16")
    )
