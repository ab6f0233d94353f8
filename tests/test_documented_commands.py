"""Every command of the documents exists; its names and options are resolved without a run."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from kedro.framework.cli.project import run as kedro_run
from kedro.io.core import is_parameter
from kedro.pipeline import Pipeline
from pydantic import BaseModel

from ease.evaluation.scoring import task_name
from ease.options import dotted, overlaid
from ease.pipelines.acquire_evaluation.nodes import check_tasks
from ease.pipelines.options import SAMPLE, EvaluateOptions
from ease.pipelines.setting import Setting
from tests.contexts import all_pipelines, checked_parameters, nested
from tests.documented import Documented, documented_commands, documents, lines_to_copy
from tests.project import ROOT, Project
from tests.rehearsal.rehearse_all import VARIATIONS

PLACEHOLDERS = {
    "multilingual.<name>": "multilingual.simcse",
    "--pipelines=word_counts": "--pipelines=ingest",
    "sweep=rates": "sweep=grid",
    "evaluate.tasks=<name>": "evaluate.tasks=stsb",
    ",…": "",
    "--params=…": "--params=seed=1",
}
"""Values for the placeholders of documents."""

ELSEWHERE = ("--packages", "--conf", "kedro airflow")
"""First words of commands of programs that the project does not install: spark-submit, kedro-airflow."""

PIPELINES = all_pipelines()
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
    # `test_start_up.py` runs `kedro registry list`, `pipelines/test_parameters.py` `kedro parameters`.
    known = {"kedro run", "kedro airflow", "kedro parameters", "kedro pipeline", "kedro registry"}
    # Kedro's own commands, which the project does not extend.
    known |= {"kedro ipython", "kedro jupyter", "kedro server"}
    known |= {"make", "module", "options", "torchrun"}
    assert {kind for kind in kinds - known if not (ROOT / kind).exists()} == set()
    assert len(COMMANDS) > 80, "fewer than there were: documents are not read as they were"


@pytest.mark.parametrize(("document", "text"), [pytest.param(*each, id=each[0]) for each in documents()])
def test_code_fits_the_width_of_a_page(document: str, text: str) -> None:
    assert [line for line in lines_to_copy(text) if len(line) > 120] == []


@pytest.mark.parametrize(("document", "text"), [pytest.param(*each, id=each[0]) for each in documents()])
def test_links_have_words_instead_of_file_names(document: str, text: str) -> None:
    assert re.findall(r"\[[\w/]+\.(?:md|rst)\]\(", text) == []


def test_the_list_of_documents_has_every_document() -> None:
    text = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    # Sphinx includes some documents from elsewhere; `index.md` is the site's own list.
    names = [path.name for path in (ROOT / "docs").glob("*.md") if "```{include}" not in path.read_text("utf-8")[:20]]
    assert len(names) > 30
    assert [name for name in names if f"({name}" not in text] == ["README.md"]


def test_shell_variables_are_replaced_by_their_values() -> None:
    words = [word for command in COMMANDS for word in command.words]
    assert any("encoder.name=roberta-base,monolingual.setting" in word for word in words)
    assert [word for word in words if re.search(r"\$[a-z]", word)] == []


class Run(NamedTuple):
    """A `kedro run` command of a document."""

    command: str
    env: str | None
    given: dict[str, Any]
    """Its `--params`"""
    nodes: Pipeline


def documented_runs() -> list[Run]:
    return [parse_run(param.values[0], param.id) for param in of_kind("kedro run")]


def parse_run(words: list[str], command: str) -> Run:
    """Parse a command; options without a pipeline belong to a pipeline of the text around them."""
    complete = words[0] == "kedro"
    flag = [] if complete or words[0].startswith("--") else ["--params"]
    with kedro_run.make_context("kedro run", words[2:] if complete else [*flag, *words]) as context:
        given = context.params
    candidates = [given["pipelines"] or ["__default__"]] if complete else [["train_monolingual"], ["train"]]
    nodes = chosen_nodes(candidates, given)
    assert set(given["load_versions"] or {}) <= nodes.datasets(), command
    return Run(command, given["env"], given["params"], nodes)


def chosen_nodes(candidates: list[list[str]], given: dict[str, Any]) -> Pipeline:
    """Return the nodes selected by tags and namespaces from the first sum of pipelines that has any."""
    for names in candidates:
        summed = sum((PIPELINES[name] for name in names), Pipeline([]))
        with suppress(ValueError):  # Kedro raises it if no node is selected
            return summed.filter(tags=given["tags"] or None, node_namespaces=given["namespaces"] or None)
    return Pipeline([])


def grouped(runs: list[Run]) -> list[list[Run]]:
    """Group runs whose parameters do not contradict each other, since resolving the configuration takes a second."""
    groups: list[list[Run]] = []
    for run in runs:
        fitting = (group for group in groups if not any(contradict(run, other) for other in group))
        group = next(fitting, None)
        if group is None:
            groups.append(group := [])
        group.append(run)
    return groups


def contradict(first: Run, second: Run) -> bool:
    """Return whether two runs differ in their environment or in a group of parameters; a group is checked at once."""
    one, other = by_group(first.given), by_group(second.given)
    return first.env != second.env or any(
        one[a] != other[b] for a in one for b in other if f"{a}.".startswith(f"{b}.") or b.startswith(f"{a}.")
    )


def by_group(given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return parameters by the dotted name of their group."""
    groups: dict[str, dict[str, Any]] = {}
    for name, value in dotted(given).items():
        groups.setdefault(name.rpartition(".")[0], {})[name] = value
    return groups


def rehearsed_runs() -> list[Run]:
    """Return the runs of the rehearsal without its small parameters; one of its variations asks for the sample."""
    given: dict[str, tuple[str, dict[str, Any]]] = {name: (name, {}) for name in PIPELINES}
    return [
        Run(title, "paper", nested(**values), PIPELINES[name])
        for title, (name, values) in (given | VARIATIONS).items()
        if SAMPLE not in values.values()
    ]


@pytest.mark.parametrize("runs", grouped([*documented_runs(), *rehearsed_runs()]), ids=lambda runs: runs[0].command)
def test_runs_have_their_pipelines_nodes_parameters_and_datasets(runs: list[Run], bare: Project) -> None:
    env = runs[0].env
    assert env is None or (ROOT / "conf" / env).is_dir()
    assert [run.command for run in runs if not run.nodes.nodes] == []
    given: dict[str, Any] = reduce(overlaid, (run.given for run in runs), {})
    read = resolve_parameters(bare, env, given, set().union(*(run.nodes.inputs() for run in runs)))
    assert env != "paper" or {text for text in read if text.startswith(SAMPLE)} == set()


def resolve_parameters(project: Project, env: str | None, given: dict[str, Any], inputs: set[str]) -> set[str]:
    """Load the parameters that nodes read, which validates them by their options classes.

    Returns:
        The texts and paths in them, and in the options of the evaluation tasks that they name.
    """
    whole: Any = checked_parameters(project, env, given)
    tasks = whole["tasks"]
    check_tasks([*given.get("tasks", {})], tasks)
    names = {name.removeprefix("params:") for name in inputs if is_parameter(name)} - {"tasks"}
    values: list[Any] = [reduce(inner_value, name.split("."), whole) for name in names]
    texts = {*leaves(values)}
    for value in values:
        if isinstance(value, EvaluateOptions):
            check_tasks(value.references((), tasks), tasks)
            texts.update(value.references((), tasks))
        if isinstance(value, Setting):
            check_tasks((*value.dev_tasks, *value.test_tasks), tasks)
    return texts | {*leaves([tasks[name] for name in map(task_name, texts) if name in tasks])}


def inner_value(group: Any, name: str) -> Any:
    return group[name] if isinstance(group, dict) else getattr(group, name)


def leaves(value: Any) -> Iterator[str]:
    """Yield the texts and paths in nested parameters."""
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner)
    elif isinstance(value, str | Path):
        yield str(value)


@pytest.mark.parametrize("words", of_kind("module"))
def test_a_module_is_there_with_its_options(words: list[str]) -> None:
    module = words[words.index("-m") + 1]
    spec = find_spec(module)
    if spec is not None and spec.submodule_search_locations:
        spec = find_spec(f"{module}.__main__")
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
    options = set(re.findall(r"\"(--[a-z0-9-]+)\"", text))
    negated = {option.replace("--", "--no-", 1) for option in options if "BooleanOptionalAction" in text}
    return options | negated


def test_an_invented_command_is_refused(bare: Project) -> None:
    with pytest.raises(Exception, match="Unknown evaluation task 'stsx'"):
        resolve_parameters(bare, None, {"evaluate": {"tasks": "stsx"}}, PIPELINES["evaluate"].inputs())


def test_make_lists_what_the_documents_name() -> None:
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = {words[1] for words in map(str.split, listed.splitlines()) if words[:1] == ["make"]}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in COMMANDS:
        goals = command.words[1:] if command.words[0] == "make" else ()
        for variable, _, value in (word.partition("=") for word in goals if "=" in word):
            assert re.search(rf"^{variable} \??:?=", makefile, re.M), command
            assert variable != "BENCHMARKS" or find_spec(f"benchmarks.{value}"), command
        assert {goal for goal in goals if "=" not in goal and goal != "…"} <= targets, command
