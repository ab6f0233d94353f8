"""A mistake on the command line or in the configuration gives one line with the nearest names."""

from __future__ import annotations

from pathlib import Path

import pytest

from ease.io.suggestions import nearest
from tests.project import Project, make_project

MISTAKES = {
    "--env=papr": ["papr", "did you mean paper?"],
    "--pipelines=trian": ["trian", "did you mean train"],
    "--pipelines=train,evalute": ["evalute", "did you mean evaluate"],
    "--pipelines=train_multilingual,train": ["cannot run together", "--pipelines=train_multilingual`, then"],
    "--namespaces=multilingual.eas": ["did you mean multilingual.ease"],
    "--tags=evalute": ["evalute", "did you mean evaluate"],
    "--nodes=multilingual.ease.score_encodr": ["did you mean multilingual.ease.score_encoder"],
    "--params=multilingual.ease.training.learning_rat=1": ["learning_rat`", "did you mean learning_rate"],
    "--params=multilingual.ease.options.temperatur=1": ["temperatur`", "did you mean temperature"],
    "--params=multilingual.eas.training.max_steps=1": ["did you mean multilingual.ease.training.max_steps"],
    "--params=multilingual.ease.training.max_steps=many": ["multilingual.ease", "max_steps", "valid integer"],
    "--params=multilingual.setting.langages=en": ["langages`", "did you mean languages?"],
    "--params=multilingual.setting.encoder.random.layer=2": ["layer`", "did you mean layers?"],
    "--params=multilingual.setting.languages=en JAA": ["'JAA'", "did you mean ja"],
    "--params=multilingual.setting.test_tasks=stb": ["'stb'", "did you mean sts", "tatoeba"],
    "--params=acquire.sample.territorie=3": ["territorie`", "did you mean territories"],
    "--params=engine=duckbd": ["duckbd", "duckdb"],
}
"""Arguments of `kedro run`, and parts of the message."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_project(tmp_path_factory.mktemp("project"))


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


@pytest.mark.parametrize("argument", MISTAKES)
def test_a_mistake_gives_one_line_with_the_nearest_names(project: Project, argument: str) -> None:
    line = error_line(project, argument)
    assert [words for words in MISTAKES[argument] if words not in line] == [], line


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
        ("parameters.yml", b"multilingual:\n  setting: [a\n", "parameters.yml"),
        ("parameters.yml", b"engine: sprak", "did you mean spark"),
        ("parameters.yml", b"multilingul: {setting: {seed: 1}}", "did you mean multilingual.setting.seed"),
    ],
)
def test_a_broken_configuration_file_is_named_with_its_fault(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    project = make_project(tmp_path)
    (tmp_path / "conf" / "local" / name).write_bytes(content)
    assert message in error_line(project)


def test_a_wrong_method_parameter_in_a_file_is_refused_by_the_runs_that_read_it(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    wrong = "multilingual: {ease: {options: {temperatur: 1}}}"
    (tmp_path / "conf" / "local" / "parameters.yml").write_text(wrong, encoding="utf-8")
    line = error_line(project, "--pipelines=train_multilingual")
    assert "Parameter `multilingual.ease`: Parameters of method 'ease': " in line
    assert "did you mean temperature" in line


def test_a_store_that_mlflow_does_not_open_is_named(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    wrong = f"server: {{mlflow_tracking_uri: {tmp_path / 'mlruns'}}}"
    (tmp_path / "conf" / "local" / "mlflow.yml").write_text(wrong, encoding="utf-8")
    line = error_line(project)
    assert "MLflow cannot open the store that `server.mlflow_tracking_uri` in mlflow.yml names: " in line
    assert "A database works" in line


def test_only_near_names_are_suggested_the_nearest_first() -> None:
    assert nearest("xx", ["xh", "en", "xal"]) == []
    assert nearest("learning_rat", ["entity_learning_rate", "learning_rate"])[0] == "learning_rate"
    assert nearest("EASE", ["ease", "mlm"]) == ["ease"]
