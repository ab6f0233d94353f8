"""Values of `--params` that YAML would read otherwise, values that others refer to, and the cache of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ease.errors import EaseError
from ease.evaluation.tasks import build_task
from ease.hooks.configuration import ConfigLoader
from ease.settings import CONFIG_LOADER_ARGS
from tests.contexts import load_catalog
from tests.project import Project, make_project


def test_values_are_read_as_they_are_meant(bare: Project) -> None:
    given = {
        "acquire__wikipedia": "sample:",
        "acquire__wikidata": "null",
        "evaluate__tasks": "null",
        "multilingual__setting__encoder__name": "random:",
        "multilingual__setting__languages": "en",  # the groups of `analysis.language_identity` follow
        "tasks__pawsx__learning_rates": 0.1,
        "teach__encoder": "random:",
        "_dueam": "weakly_supervised",
    }
    catalog = load_catalog(bare, "paper", **given)
    acquire = catalog.load("params:acquire")
    assert (acquire.wikipedia, acquire.wikidata) == ("sample:", None)
    assert catalog.load("params:evaluate").tasks is None
    setting = catalog.load("params:multilingual.setting")
    assert (setting.encoder.name, setting.languages) == ("random:", ("en",))
    assert catalog.load("params:teach.encoder") == "random:"
    assert build_task("pawsx", catalog.load("params:tasks")["pawsx"]).options.learning_rates == (0.1,)
    sources = catalog.load("params:multilingual.dueam").data
    assert {source["form"] for source in sources} == {"premise_hypothesis"}


def test_norwegian_is_no_truth_value_and_the_engine_computes_the_tables(tmp_path: Path) -> None:
    made = make_project(tmp_path)
    text = "multilingual: {setting: {languages: [en, no]}}\nteach: {language: no, companions: [en]}\n"
    text += "audit: {pivot: no}\nengine: spark\n"
    (tmp_path / "conf" / "local" / "parameters.yml").write_text(text, encoding="utf-8")
    catalog = load_catalog(made)
    assert catalog.load("params:multilingual.setting").languages == ("en", "no")
    assert catalog.load("params:teach.setting").languages == ("no", "en")
    assert catalog.load("params:audit").pivot == "no"
    usual = catalog.load("params:multilingual.dueam").data
    assert {source["form"] for source in usual} == {"shuffled"}
    pairs: Any = catalog.get("multilingual.pairs")
    assert pairs._connection_config["backend"] == "pyspark"


def test_a_null_engine_is_the_default(bare: Project) -> None:
    pairs: Any = load_catalog(bare, engine="null").get("multilingual.pairs")
    assert pairs._connection_config["backend"] == "duckdb"


@pytest.mark.parametrize(
    "name", ["acquire", "tasks", "sweeps", "work", "teach.encoder", "multilingual.ease", "_dueam", "tasks.tatoeba"]
)
def test_a_null_without_a_default_is_refused_by_its_name(bare: Project, name: str) -> None:
    with pytest.raises(EaseError, match=rf"`{name.partition('.')[0]}"):
        load_catalog(bare, **{name.replace(".", "__"): "null"})


@pytest.mark.parametrize("name", ["data", "seed", "tables", "globals.free_disk_gb"])
def test_a_global_is_refused_as_a_parameter_with_its_file(bare: Project, name: str) -> None:
    with pytest.raises(EaseError, match=rf"`{name}` given by --params is a global.* conf/local/globals.yml"):
        load_catalog(bare, **{name.replace(".", "__"): "1"})


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("globals", "sed: 3", "refers to the global `sed`: did you mean seed"),
        ("globals", "data:", "globals.yml: data"),
        ("globals", "memory_limit: lots", "globals.yml: memory_limit"),
        ("globals", "- data: x", "globals.yml has a list"),
        ("parameters", "- tasks", "parameters.yml has a list"),
        ("params", "seed: 3", "params.yml is not read: rename it to parameters.yml"),
    ],
)
def test_a_wrong_file_of_configuration_is_named(tmp_path: Path, file: str, content: str, message: str) -> None:
    made = make_project(tmp_path)
    (tmp_path / "conf" / "local" / f"{file}.yml").write_text(content, encoding="utf-8")
    with pytest.raises(EaseError, match=message):
        load_catalog(made)


def test_a_global_of_the_projects_own_is_one_that_its_configuration_refers_to(tmp_path: Path) -> None:
    made = make_project(tmp_path)
    (tmp_path / "conf" / "local" / "globals.yml").write_text("words: 12", encoding="utf-8")
    (tmp_path / "conf" / "local" / "parameters.yml").write_text("audit: {min_pairs: '${globals:words}'}")
    assert load_catalog(made).load("params:audit").min_pairs == 12


def test_files_are_read_once_until_the_runtime_parameters_change(tmp_path: Path) -> None:
    for name in ("base", "local"):
        (tmp_path / name).mkdir()
    text = "size: 1\nshape:\n  side: ${size}\n  name: square"
    (tmp_path / "base" / "parameters.yml").write_text(text)
    loader = ConfigLoader(str(tmp_path), **CONFIG_LOADER_ARGS)
    first = loader["parameters"]
    first["shape"]["name"] = "changed by a reader"
    (tmp_path / "base" / "parameters.yml").write_text("size: 2\nshape:\n  side: ${size}")
    assert loader["parameters"] == {"size": 1, "shape": {"side": 1, "name": "square"}, "engine": "duckdb"}
    for size in (3, 4):
        loader.runtime_params = {"size": size}
        assert loader["parameters"]["shape"]["side"] == size
