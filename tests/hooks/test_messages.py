"""A mistake on the command line or in the configuration gives one line with the nearest names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kedro.framework.context import KedroContext

from ease.errors import EaseError
from ease.hooks.names import Names, check_run_names
from tests.contexts import give, given_context
from tests.project import Project, make_project

NAMES = {
    "pipelines=train,evalute": ["evalute", "did you mean evaluate"],
    "pipelines=distill": ["Unknown name 'distill' in --pipelines", "docs/small_models.md"],
    "pipelines=train_multilingual,train": ["cannot run together", "--pipelines=train_multilingual`, then"],
    "to_outputs=published.student": ["Unknown name 'published.student' in --to-outputs", "docs/small_models.md"],
    "pipelines=ablation": ["'ablation' is a sweep: run `kedro run --pipelines=sweep --params sweep=ablation`"],
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
    "multilingual.static_student.dimension=8": ["No pipeline reads the parameter", "docs/small_models.md"],
    "multilingual.ease.training.block_rows=8": ["no field `block_rows`: it is now `mini_batch_size`."],
    "sweeps.grid.tasks=stsb": ["no field `grid.tasks`: it is now `setting.test_tasks`."],
    "sweep=ablaton": ["Unknown sweep 'ablaton'", "did you mean ablation"],
    "sweep.onyl=ease": ["Parameter `sweep`", "no field `onyl`", "did you mean only"],
    "sweeps.ablation.sedes=1": ["Parameter `sweeps`", "no field `ablation.sedes`", "did you mean seeds"],
    "ablation.seeds=1": ["write `sweeps.ablation.seeds`"],
    "engine=duckbd": ["duckbd", "duckdb"],
    "_dueam=weakly": ["`_dueam` 'weakly': ", "weakly_supervised"],
    "_duam=unsupervised": ["No parameter refers to `_duam`", "did you mean _dueam"],
}


@pytest.fixture(scope="module")
def context(bare: Project) -> Iterator[KedroContext]:
    """A context whose parameters the tests replace."""
    with given_context(bare) as context:
        yield context


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize("option", NAMES)
def test_a_misspelt_name_is_refused_with_the_nearest(option: str) -> None:
    name, _, value = option.partition("=")
    with pytest.raises(EaseError) as error:
        check_run_names({name: value.split(",")}, sweeps=("ablation",))
    assert [words for words in NAMES[option] if words not in str(error.value)] == []


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_a_wrong_parameter_is_refused_with_the_nearest_name(parameter: str, context: KedroContext) -> None:
    name, _, value = parameter.partition("=")
    give(context, **{name: value})
    with pytest.raises(EaseError) as error:
        Names().after_context_created(context)
    assert [words for words in PARAMETERS[parameter] if words not in str(error.value)] == []
    assert "\n" not in str(error.value)


def test_a_run_from_a_folder_of_the_project_writes_into_the_project(copy: Project) -> None:
    (below := copy.folder / "notebooks").mkdir()
    Project(below).run("acquire")
    assert list(below.iterdir()) == []
    assert len(copy.versions("01_raw/multilingual/dumps.json")) == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("parameters.yml", "multilingual:\n  setting: [a\n", r"parameters\.yml"),
        ("mlflow.yml", "tracking_urj: sqlite:///x", r"mlflow\.yml: there is no field `tracking_urj`"),
    ],
)
def test_a_broken_configuration_file_is_named_with_its_fault(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    project = make_project(tmp_path)
    (tmp_path / "conf" / "local" / name).write_text(content, encoding="utf-8")
    with pytest.raises(EaseError, match=message), given_context(project):
        pass


def test_an_unknown_environment_is_refused_with_the_nearest(bare: Project) -> None:
    with pytest.raises(EaseError, match="did you mean paper?"), given_context(bare, "papr"):
        pass


def test_a_command_in_an_error_has_the_environment_of_the_run(bare: Project) -> None:
    refused = bare.kedro("run", "--env=paper", "--pipelines=mine_bitext", check=False)
    assert "make the data by `kedro run --env=paper --pipelines=train_multilingual --tags=" in refused.stderr
    assert "kedro run --pipelines" not in refused.stderr
    refused = bare.kedro("run", "--pipelines=mine_bitext", check=False)
    assert "make the data by `kedro run --pipelines=train_multilingual --tags=" in refused.stderr
