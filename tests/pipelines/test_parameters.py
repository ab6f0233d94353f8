"""`kedro parameters` shows values, their places and meanings; docs/parameters.md is made from the fields."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from ease.errors import EaseError
from ease.pipelines.parameters import Configuration, document_parameters, list_parameters
from tests.contexts import register, undisturbed
from tests.project import ROOT, Project

E5 = "intfloat/multilingual-e5-small"


@pytest.fixture(scope="module")
def configuration(bare: Project) -> Iterator[Configuration]:
    local = "multilingual: {ease: {training: {batch_size: 8}}}\nencoders: {mine: {training: {warmup: 0.5}}}\n"
    folder = bare.folder / "conf" / "local"
    (folder / "parameters.yml").write_text(local, encoding="utf-8")
    # Kedro reads files of this name in any folder.
    (folder / "mine").mkdir()
    (folder / "mine" / "parameters.yml").write_text("multilingual: {ease: {training: {seed: 7}}}\n", encoding="utf-8")
    with undisturbed():
        register(bare)
        yield Configuration(bare.folder)
    (folder / "parameters.yml").unlink()
    shutil.rmtree(folder / "mine")


@pytest.mark.parametrize(
    ("name", "encoder", "value", "place"),
    [
        ("batch_size", None, 8, "conf/local/parameters.yml"),
        ("seed", None, 7, "conf/local/mine/parameters.yml"),
        ("learning_rate", None, 3e-3, "encoders.random (conf/base/parameters/encoders.yml)"),
        ("learning_rate", "bert-base-uncased", 3e-5, "bert-base-uncased.yml, methods.ease"),
        ("warmup", "org/mine", 0.5, "encoders.mine (conf/local/parameters.yml)"),
        ("weight_decay", None, 0.0, "the class TrainingOptions"),
    ],
)
def test_a_parameter_has_a_value_a_place_and_a_meaning(
    configuration: Configuration, name: str, encoder: str | None, value: object, place: str
) -> None:
    (parameter,) = list_parameters(configuration, f"multilingual.ease.training.{name}", encoder)
    assert str(parameter.value) == str(value)
    assert parameter.place == place
    assert parameter.description


def test_a_group_has_all_parameters_of_a_recipe(configuration: Configuration) -> None:
    parameters = {
        parameter.name: parameter for parameter in list_parameters(configuration, "multilingual.ease_plus", E5)
    }
    rate = parameters["multilingual.ease_plus.training.learning_rate"]
    assert (rate.value, rate.place.partition(" (")[0]) == (3e-5, "encoders.pretrained, methods.ease_plus")
    assert parameters["multilingual.ease_plus.options.attraction"].value == 1
    assert parameters["multilingual.ease_plus.method"].place == "conf/base/parameters/methods/ease_plus.yml"
    assert "multilingual.ease_plus.data" in parameters
    assert {name.split(".")[0] for name in parameters} == {"multilingual"}


def test_groups_of_every_kind_have_parameters(configuration: Configuration) -> None:
    names = [parameter.name for parameter in list_parameters(configuration)]
    assert len(names) == len(set(names))
    assert {"engine", "multilingual.setting.languages", "low_resource.ease.training.seed"} <= set(names)
    assert any(name.startswith("tasks.sts.") for name in names)


def test_a_parameter_without_a_group_has_a_meaning(configuration: Configuration) -> None:
    described = {parameter.name for parameter in list_parameters(configuration, "teach") if parameter.description}
    assert {"teach.accept", "teach.candidates", "teach.language", "teach.min_kept"} <= described


def test_a_misspelt_parameter_is_refused_with_the_nearest_name(configuration: Configuration) -> None:
    with pytest.raises(EaseError, match=r"did you mean multilingual\.ease\.training\.learning_rate"):
        list_parameters(configuration, "multilingual.ease.training.learning_rat")


def test_the_document_is_that_of_the_fields(bare: Project) -> None:
    with undisturbed():
        register(bare)
        document = document_parameters()
    found = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8")
    assert found == document, "stale: run `kedro parameters --markdown > docs/parameters.md`"


@pytest.mark.slow
def test_the_command_shows_a_parameter(bare: Project) -> None:
    done = bare.kedro("parameters", "multilingual.setting.encoder.name", "--env=paper")
    assert done.stdout.splitlines() == [
        'multilingual.setting.encoder.name = "bert-base-multilingual-cased"',
        "    a transformer's hub name or folder, or `random:`",
        "    from conf/paper/parameters/settings.yml",
    ]
    refused = bare.kedro("parameters", "multilingual.eas", check=False)
    assert refused.returncode == 1
    assert "did you mean multilingual.ease" in refused.stderr
