"""A task of a project's own works wherever a shipped one does; misspelt names are found before the first node."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from kedro.framework.context import KedroContext

from ease.encoders.encoder import save_encoder
from tests.contexts import given_context, load_catalog
from tests.encoders.tiny import tiny_encoder
from tests.hooks.test_preflight import assert_lines, faults_of
from tests.project import Project, make_project

HEADLINES = {
    "kind": "labelled_texts",
    "source": "the test",
    "path": "headlines",
    "names": "en sw",
    "file": "{subset}/test.tsv",
    "columns": {"text": "headline", "label": "category"},
    "metrics": ["purity"],
    "groups": {"both": "en sw"},
}
PAIRS = "sentence1\tsentence2\tscore\n" + "".join(f"ball goal {n}\tball {n}\t{n}\n" for n in range(6))
GRADED = {"kind": "graded_pairs", "path": "grades", "file": "pairs.tsv", "names": "mine"}
GRADED["columns"] = {"left": "sentence1", "right": "sentence2", "score": "score"}  # type: ignore[assignment]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with a task in conf/base, another one in conf/local, and their data."""
    project = make_project(tmp_path_factory.mktemp("own"))
    conf = project.folder / "conf"
    headlines = yaml.safe_dump({"tasks": {"headlines": HEADLINES}})
    (conf / "base" / "parameters" / "tasks" / "headlines.yml").write_text(headlines)
    (conf / "local" / "parameters.yml").write_text(yaml.safe_dump({"tasks": {"grades": GRADED}}))
    evaluation: Any = load_catalog(project).load("params:acquire_evaluation").folder
    rows = [f"{label}\t{label} {n}\n" for label in ("sport", "money") for n in range(6)]
    for subset in ("en", "sw"):
        folder = project.folder / evaluation / "headlines" / subset
        folder.mkdir(parents=True)
        (folder / "test.tsv").write_text("category\theadline\n" + "".join(rows))
    (project.folder / evaluation / "grades").mkdir()
    (project.folder / evaluation / "grades" / "pairs.tsv").write_text(PAIRS)
    save_encoder(tiny_encoder(["sport 1 2 3", "money 4 5 6", "ball goal"]), project.folder / "encoder")
    return project


@pytest.mark.project
def test_own_tasks_are_located_scored_and_reported(project: Project) -> None:
    baseline = "evaluate.baselines.mine.name=encoder"
    extra = "tasks.typed.kind=graded_pairs,tasks.typed.path=grades,tasks.typed.file=pairs.tsv,tasks.typed.names=mine"
    extra += ",tasks.typed.columns.left=sentence1,tasks.typed.columns.right=sentence2,tasks.typed.columns.score=score"
    parameters = f"{baseline},evaluate.tasks=headlines grades:mine typed,{extra}"
    project.kedro("run", "--pipelines=evaluate", "--namespaces=baselines", "--params", parameters, start=False)
    rows = project.json("07_model_output/baselines/scores.json")
    scores = {(row["task"], row["subset"], row["metric"]): row for row in rows}
    assert scores.keys() == {
        *(("headlines", subset, "purity") for subset in ("en", "sw", "average", "average_both")),
        *((task, subset, "spearman") for task in ("grades", "typed") for subset in ("mine", "average")),
    }
    assert all(row["main"] for row in rows)
    assert {row["task_type"] for row in rows} == {"Clustering", "STS"}
    done = project.kedro("run", "--pipelines=report", start=False)
    report = (project.latest("08_reporting/report") / "report.md").read_text(encoding="utf-8")
    assert "Task headlines" in report
    assert "Task grades" in report, done.stderr
    exported = {file.stem for file in project.latest("08_reporting/exported_scores").rglob("ease_*.json")}
    assert exported == {"ease_headlines", "ease_grades", "ease_typed"}


@pytest.fixture(scope="module")
def context(project: Project) -> Any:
    with given_context(project) as context:
        yield context


@pytest.mark.parametrize(
    ("pipeline", "given", "expected"),
    [
        ("acquire_evaluation", {"multilingual__setting__test_tasks": "headlines grades:mine"}, []),
        ("train_multilingual", {"multilingual__setting__dev_tasks": "grades"}, []),
        (
            "train_multilingual",
            {"multilingual__setting__test_tasks": "headlnes", "multilingual__setting__dev_tasks": "grades:yours"},
            [
                "`multilingual.setting.test_tasks`: Unknown evaluation task 'headlnes': did you mean headlines",
                "Options of the task 'grades': Unknown subset yours: choose from mine",
            ],
        ),
        (
            "acquire",
            {"multilingual__setting__dev_tasks": "tatoba sick"},
            [
                "`multilingual.setting.dev_tasks`: Unknown evaluation task 'tatoba': did you mean tatoeba",
                "`multilingual.setting.dev_tasks`: Unknown evaluation task 'sick': did you mean sickr",
            ],
        ),
        (
            "acquire_evaluation",
            {
                "evaluate__tasks": "headline",
                "evaluate__baselines__mine__name": "encoder",
                "evaluate__baselines__mine__tasks": "grads",
                "evaluate__baselines__mine__prompts__headlinez": "topic",
                "tasks__tatoba__subsets": "deu-eng",
            },
            [
                "`evaluate.tasks`: Unknown evaluation task 'headline': did you mean headlines",
                "`evaluate.baselines.mine.tasks`: Unknown evaluation task 'grads': did you mean grades",
                "`evaluate.baselines.mine.prompts`: Unknown prompt 'headlinez': did you mean headlines",
                "`tasks.tatoba` is no task, since it has no `kind`: did you mean tatoeba",
            ],
        ),
        (
            "sweep",
            {"sweep": "grid", "sweeps__grid__setting__test_tasks": "stsx"},
            ["The sweep 'grid': Unknown evaluation task 'stsx': did you mean"],
        ),
    ],
)
def test_names_are_checked_against_the_parameters(
    pipeline: str, given: dict[str, Any], expected: list[str], context: KedroContext
) -> None:
    assert_lines(faults_of(context, pipeline, **given), *expected)


def test_overridden_options_reach_the_nodes(project: Project) -> None:
    changes = {"tasks__sts17__groups__mine": "en-en", "tasks__sts17__source": "my shelf"}
    tasks = load_catalog(project, **changes).load("params:tasks")
    assert (tasks["sts17"]["groups"], tasks["sts17"]["source"]) == ({"mine": "en-en"}, "my shelf")
