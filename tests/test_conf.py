"""The configuration and the code agree on datasets, parameters, methods and tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from kedro.framework.project import pipelines
from kedro.io import AbstractVersionedDataset, CatalogProtocol
from kedro.io.core import is_parameter
from kedro.validation.type_extractor import TypeExtractor
from pydantic import BaseModel, TypeAdapter

from ease.configuration import default_parameters
from ease.datasets.tables import TableDataset, TablesDataset
from ease.evaluation.tasks import task_class
from ease.methods import method_names
from ease.options import dotted, overlaid, value_at
from ease.pipelines.recipe import CompleteRecipe, Recipe
from ease.pipelines.setting import LOW_RESOURCE, SETTINGS
from ease.pipelines.sweep.variants import SWEPT_SETTINGS
from ease.pipelines.teach.setting import complete_taught_setting
from ease.wikimedia.languages import PAPER_LANGUAGES
from tests.contexts import load_catalog, load_parameters
from tests.project import ROOT, SWEEPS, Project

Catalog = CatalogProtocol[Any, Any]

ENVIRONMENTS = ("base", "paper")


@pytest.fixture(scope="module")
def base(bare: Project) -> Catalog:
    return load_catalog(bare, "base")


@pytest.fixture(scope="module")
def paper(bare: Project) -> Catalog:
    return load_catalog(bare, "paper")


@pytest.fixture(scope="module")
def larger(bare: Project) -> Catalog:
    """The paper's catalog with its other encoders, and on Spark."""
    encoders = {"multilingual": "xlm-roberta-base", "monolingual": "roberta-base"}
    given = {f"{setting}__setting__encoder__name": encoder for setting, encoder in encoders.items()}
    return load_catalog(bare, "paper", engine="spark", **given)


def datasets_of(catalog: Catalog) -> dict[str, Any]:
    """Return the datasets of all pipelines by their names."""
    names = {name for pipeline in pipelines.values() for name in pipeline.datasets()}
    found = {name for name in names if not is_parameter(name)}
    return {name: catalog.get(name, fallback_to_runtime_pattern=True) for name in sorted(found)}


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_every_dataset_is_in_the_catalog_and_versioned(env: str, request: pytest.FixtureRequest) -> None:
    made = datasets_of(request.getfixturevalue(env))
    del made["papers.tables"]  # of the configuration
    for name, dataset in made.items():
        if isinstance(dataset, TablesDataset):
            continue  # reads what others save
        assert isinstance(dataset, AbstractVersionedDataset), name
        assert dataset._version is not None, name


def leaves(value: Any, name: str = "") -> Iterator[str]:
    """Yield the names of values and of empty groups."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{name}.{key}".lstrip("."))
    else:
        yield name


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_every_parameter_is_read_and_every_read_one_exists(bare: Project, env: str) -> None:
    # Names with an underscore are for interpolation alone.
    parameters = load_parameters(bare, env).items()
    configured = set(leaves({name: value for name, value in parameters if not name.startswith("_")}))
    assert "hard_negatives.without" in configured, "single values, not models"
    read = {
        name.removeprefix("params:")
        for pipeline in pipelines.values()
        for name in pipeline.inputs()
        if is_parameter(name)
    }
    # Sweeps load all parameters of a setting, and use the setting itself and the recipes.
    recipes = {f"{setting}.{method}" for setting in SWEPT_SETTINGS for method in method_names()}
    read = {one for one in read | recipes if one not in SWEPT_SETTINGS}
    unread = [name for name in configured if not any(f"{name}.".startswith(f"{one}.") for one in read)]
    missing = [one for one in read - recipes if not any(f"{name}.".startswith(f"{one}.") for name in configured)]
    assert (unread, missing) == ([], [])


EXPLICIT = {
    # What a user changes first.
    *(f"{setting}.setting.encoder.name" for setting in (*SETTINGS, LOW_RESOURCE)),
    # Replaces the value of the recipe that it copies.
    "monolingual.mirror_bert.rows",
    # Null there: `teach.encoder` completes it.
    "teach.setting.encoder.name",
}
"""Values that the files repeat although they are the class's default"""


def repeated_values(options: Any, values: dict[str, Any], name: str) -> Iterator[str]:
    """Yield the names of configured values that are the defaults of their fields."""
    for field, info in type(options).model_fields.items():
        value = getattr(options, field)
        if isinstance(value, BaseModel) and isinstance(values.get(field), dict):
            yield from repeated_values(value, values[field], f"{name}.{field}")
        elif field in values and not info.is_required() and value == info.get_default(call_default_factory=True):
            yield f"{name}.{field}"


def test_files_have_only_what_differs_from_the_classes(bare: Project) -> None:
    raw: dict[str, Any] = {}
    for file in (ROOT / "conf" / "base" / "parameters").rglob("*.yml"):
        raw = overlaid(raw, yaml.safe_load(file.read_text(encoding="utf-8")))
    parameters = load_parameters(bare, "base")
    complete_taught_setting(parameters)
    models: dict[str, Any] = TypeExtractor(dict(pipelines)).extract_types_from_pipelines()
    models |= {f"tasks.{name}": task_class(name, task).Options for name, task in parameters["tasks"].items()}
    repeated: set[str] = set()
    for name, model in models.items():
        values = value_at(parameters, name)
        if isinstance(values, dict):
            repeated.update(repeated_values(TypeAdapter(model).validate_python(values), values, name))
    # A reference, such as to the data folder, may have the default's value.
    literal = {name for name in repeated if "${" not in str(value_at(raw, name))}
    assert literal == EXPLICIT, "remove what the class has already, and its comment"


def test_all_tables_share_one_connection_of_the_chosen_engine(base: Catalog, larger: Catalog) -> None:
    tables = [dataset for dataset in datasets_of(base).values() if isinstance(dataset, TableDataset)]
    (connection,) = {str(dataset._connection_config) for dataset in tables}
    assert "duckdb" in connection
    dataset = larger.get("multilingual.pairs")
    assert isinstance(dataset, TableDataset)
    assert dataset._connection_config == {"backend": "pyspark"}


def test_every_method_task_and_sweep_has_its_file_and_its_configuration() -> None:
    folder = ROOT / "conf" / "base" / "parameters"
    assert sorted(path.stem for path in (folder / "methods").iterdir()) == method_names()
    assert {path.stem for path in (folder / "tasks").iterdir()} == set(default_parameters()["tasks"])
    assert sorted(path.stem for path in (folder / "sweeps").iterdir()) == sorted(SWEEPS)


DATA_DEPENDENT = {
    # What selects the texts in `data`, and what `_mirror_bert` selects.
    "options.strategy",
    "options.temperature",
    "options.span",
    "training.epochs",
    "training.max_tokens",
}


@pytest.mark.parametrize("method", method_names())
def test_the_file_of_a_method_has_no_parameter_of_its_own(bare: Project, method: str) -> None:
    """Values of parameters are defaults by encoder or class, so that `ease.train` has the same."""
    parameters = load_parameters(bare, "base")
    for setting in SETTINGS:
        recipe = parameters[setting][method]
        values = dotted({name: recipe.get(name, {}) for name in ("options", "training")})
        assert set(values) <= DATA_DEPENDENT


TABLE_9 = {
    ("multilingual", "simcse", "bert-base-multilingual-cased"): (128, 3e-5),
    ("multilingual", "simcse", "xlm-roberta-base"): (128, 3e-5),
    ("monolingual", "ease", "bert-base-uncased"): (64, 3e-5),
    ("monolingual", "ease", "roberta-base"): (128, 5e-5),
    ("multilingual", "ease", "bert-base-multilingual-cased"): (256, 5e-5),
    ("multilingual", "ease", "xlm-roberta-base"): (64, 3e-5),
}
"""The paper's batch sizes and learning rates."""

PUBLISHED: dict[str, dict[str, Any]] = {
    "monolingual": {"languages": ("en",), "pooling": "cls_mlp_train", "dev_tasks": ("stsb:dev",)},
    "multilingual": {"languages": PAPER_LANGUAGES, "pooling": "mean", "dev_tasks": ("stsb:dev", "sickr:trial")},
}
PUBLISHED["monolingual"] |= {"max_pairs_per_language": 1_000_000, "temperature": 100}
PUBLISHED["multilingual"] |= {"max_pairs_per_language": 50_000, "temperature": 10}
"""Other values of the paper's settings (sections 3 to 5, appendices A and B)."""

LOOP = {"epochs": 1, "max_steps": None, "max_tokens": 32, "evaluate_every": 250, "weight_decay": 0}
EQUATIONS: dict[str, Any] = {"entity_weight": 0.01, "self_temperature": 0.05, "self_supervised": True}
EQUATIONS |= {"hard_negatives": True, "projection": "linear", "hard_negative_weight": 0}
EQUATIONS |= {"mask_same_entity": False, "gather_negatives": False}
"""Equations 1 to 4 without extensions."""


def complete(catalog: Catalog, setting: str, method: str) -> CompleteRecipe:
    """Return a method's recipe with the defaults for the setting's encoder."""
    encoder = catalog.load(f"params:{setting}.setting").encoder.name
    recipe: Recipe = catalog.load(f"params:{setting}.{method}")
    return recipe.complete(encoder, catalog.load("params:encoders"))


@pytest.mark.parametrize("env", ["paper", "larger"])
def test_the_paper_trains_with_its_batch_sizes_and_learning_rates(env: str, request: pytest.FixtureRequest) -> None:
    catalog = request.getfixturevalue(env)
    names = {setting: catalog.load(f"params:{setting}.setting").encoder.name for setting in SETTINGS}
    rows = [(row, values) for row, values in TABLE_9.items() if names[row[0]] == row[2]]
    assert len(rows) == 3
    for (setting, method, _), values in rows:
        loop, published = complete(catalog, setting, method).training, PUBLISHED[setting]
        assert (loop.batch_size, loop.learning_rate) == values
        steps = published["max_pairs_per_language"] * len(published["languages"]) / loop.batch_size
        assert loop.sub_batch_size == 8, "the authors' scripts accumulate gradients of 8 pairs"
        assert loop.warmup * steps == pytest.approx(500, abs=10), "as their configuration has it"


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_method_keeps_the_samples_threads_at_the_papers_scale(paper: Catalog, setting: str) -> None:
    threads = {name: complete(paper, setting, name).training.threads for name in method_names()}
    assert threads == dict.fromkeys(method_names()), "a file in conf/paper/parameters/methods changes them"


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_paper_environment_has_the_papers_values(paper: Catalog, setting: str) -> None:
    load, published = paper.load, PUBLISHED[setting]
    shared, pairs = load(f"params:{setting}.setting"), load(f"params:{setting}.pairs")
    assert (setting, "ease", shared.encoder.name) in TABLE_9
    assert tuple(shared.languages) == tuple(published["languages"])
    assert shared.encoder.pooling == published["pooling"]
    assert shared.dev_tasks == published["dev_tasks"]
    assert load(f"params:{setting}.vocabulary").min_link_count == 10
    assert pairs.max_pairs_per_language == published["max_pairs_per_language"]
    assert pairs.max_pairs_per_entity is None
    recipes = {method: complete(paper, setting, method) for method in ("ease", "simcse")}
    for method, recipe in recipes.items():
        loop = recipe.training.model_dump()
        assert {name: loop[name] for name in LOOP} == LOOP, method
    options = recipes["ease"].options.model_dump()
    assert options == {**EQUATIONS, "temperature": published["temperature"]}
    simcse = recipes["simcse"].options.model_dump()
    assert simcse.pop("mlm_weight") == 0, "the paper's baseline has no auxiliary loss"
    simcse.pop("mlm_probability")
    assert simcse == {name: EQUATIONS[name] for name in ("self_temperature", "gather_negatives")}
