"""A mistake on the command line or in the configuration gives one line with the nearest names."""

from __future__ import annotations

from pathlib import Path

import pytest
from kedro.framework.project import configure_project

from ease.errors import EaseError
from ease.hooks.names import check_run_names
from ease.io.names import nearest
from tests.contexts import given_context
from tests.project import Project, make_project

NAMES = {
    "pipelines=train,evalute": ["evalute", "did you mean evaluate"],
    "pipelines=train_multilingual,train": ["cannot run together", "--pipelines=train_multilingual`, then"],
    "tags=evalute": ["evalute", "did you mean evaluate"],
    "load_versions=multilingual.eas.encoder": ["--load-versions", "did you mean multilingual.ease.encoder"],
    "node_names=multilingual.ease.score_encodr": ["--nodes", "did you mean multilingual.ease.score_encoder"],
}
"""Options of `kedro run`, and parts of the message."""

PARAMETERS = {
    "multilingual.ease.training.learning_rat=1": ["learning_rat`", "did you mean learning_rate"],
    "multilingual.eas.training.max_steps=1": ["did you mean multilingual.ease.training.max_steps"],
    "multilingual.ease.training.max_steps=many": ["multilingual.ease", "max_steps", "valid integer"],
    "multilingual.setting.languages=en JAA": ["'JAA'", "did you mean ja"],
    "multilingual.setting.test_tasks=stb": ["'stb'", "did you mean sts", "tatoeba"],
    "engine=duckbd": ["duckbd", "duckdb"],
    "_dueam=weakly": ["`_dueam` 'weakly': ", "weakly_supervised"],
    "_duam=unsupervised": ["No parameter refers to `_duam`", "did you mean _dueam"],
}


@pytest.mark.parametrize("option", NAMES)
def test_a_misspelt_name_is_refused_with_the_nearest(option: str) -> None:
    configure_project("ease")
    name, _, value = option.partition("=")
    with pytest.raises(EaseError) as error:
        check_run_names({name: value.split(",")})
    assert [words for words in NAMES[option] if words not in str(error.value)] == []


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_a_wrong_parameter_is_refused_with_the_nearest_name(parameter: str, bare: Project) -> None:
    name, _, value = parameter.partition("=")
    with pytest.raises(EaseError) as error, given_context(bare, **{name: value}):
        pass
    assert [words for words in PARAMETERS[parameter] if words not in str(error.value)] == []
    assert "\n" not in str(error.value)


def error_line(project: Project, *arguments: str) -> str:
    """Return the last line of a failing `kedro run`, its only line about the error."""
    done = project.kedro("run", *arguments, check=False, start=False)
    assert done.returncode not in (0, None)
    assert "Traceback" not in done.stdout + done.stderr
    assert "pydantic.dev" not in done.stderr
    lines = done.stderr.strip().splitlines()
    errors = [line for line in lines if "Error" in line or "ERROR" in line]
    assert errors == lines[-1:], done.stderr
    return lines[-1]


def test_the_command_prints_one_line(bare: Project) -> None:
    assert "did you mean paper?" in error_line(bare, "--env=papr")
    line = error_line(bare, "--pipelines=train", "--tags=evalute")
    assert "'evalute' in --tags in train" in line


def test_a_run_from_a_folder_of_the_project_writes_into_the_project(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    (below := tmp_path / "notebooks").mkdir()
    done = Project(below).run("acquire")
    assert "Done: 1 node" in done.stderr
    assert list(below.iterdir()) == []
    assert (tmp_path / "data" / "08_reporting" / "mlflow.db").exists()
    assert project.versions("01_raw/multilingual/dumps.json")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("parameters.yml", "multilingual:\n  setting: [a\n", "parameters.yml"),
        (
            "parameters.yml",
            "multilingual: {ease: {options: {temperatur: 1}}}",
            "Parameter `multilingual.ease`: Parameters of method 'ease': ",
        ),
        ("globals.yml", "data: pyproject.toml/data", "The data folder cannot be made (Not a directory: pypr"),
        (
            "mlflow.yml",
            "server: {mlflow_tracking_uri: ./mlruns}",
            "MLflow cannot open the store that `server.mlflow_tracking_uri` in mlflow.yml names: ",
        ),
    ],
)
def test_a_broken_configuration_file_is_named_with_its_fault(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    project = make_project(tmp_path)
    (tmp_path / "conf" / "local" / name).write_text(content, encoding="utf-8")
    assert message in error_line(project, "--pipelines=train_multilingual")


def test_only_near_names_are_suggested_the_nearest_first() -> None:
    assert nearest("xx", ["xh", "en", "xal"]) == []
    assert nearest("learning_rat", ["entity_learning_rate", "learning_rate"])[0] == "learning_rate"
    assert nearest("EASE", ["ease", "mlm"]) == ["ease"]
