"""The configuration and the code agree: no dataset, parameter, method or task without its other half."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kedro.framework.context import KedroContext
from kedro.framework.project import pipelines
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project
from kedro.io import AbstractVersionedDataset, CatalogProtocol
from kedro.io.core import is_parameter
from kedro.pipeline import Pipeline, node

from ease.datasets.tables import TableDataset
from ease.datasets.whole import JSONDataset
from ease.methods import method_names
from ease.pipeline_registry import SETTINGS, SWEEPS
from ease.tasks import task_names

ROOT = Path(__file__).parents[1]
ENVIRONMENTS = ("base", "paper")


def load_context(env: str, **runtime_params: Any) -> KedroContext:
    bootstrap_project(ROOT)
    with KedroSession.create(project_path=ROOT, env=env, runtime_params=runtime_params) as session:
        context: KedroContext = session.load_context()  # type: ignore[attr-defined]
        return context


@pytest.fixture(scope="module", params=ENVIRONMENTS)
def context(request: pytest.FixtureRequest) -> KedroContext:
    return load_context(request.param)


def unkept_datasets(pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]) -> list[str]:
    """Name the datasets that would be lost with the run or overwritten by the next one."""
    names = sorted(name for name in pipeline.datasets() if not is_parameter(name))
    return [name for name in names if not is_kept(catalog.get(name, fallback_to_runtime_pattern=True))]


def is_kept(dataset: Any) -> bool:
    return isinstance(dataset, AbstractVersionedDataset) and dataset._version is not None


def test_every_dataset_is_in_the_catalog_and_versioned(context: KedroContext) -> None:
    catalog = context.catalog
    for pipeline in pipelines.values():
        assert unkept_datasets(pipeline, catalog) == []


def test_a_misspelt_or_unversioned_intermediate_is_found(tmp_path: Path) -> None:
    catalog = load_context("base").catalog
    misspelt = Pipeline([node(lambda pairs: pairs, "multilingual.pairs", "multilingual.piars", name="n")])
    assert unkept_datasets(misspelt, catalog) == ["multilingual.piars"]
    catalog["multilingual.pairs"] = JSONDataset(filepath=str(tmp_path / "unversioned.json"))
    assert unkept_datasets(misspelt, catalog) == ["multilingual.pairs", "multilingual.piars"]


def leaves(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{name}.{key}".lstrip("."))
    else:
        yield name


def test_every_parameter_is_read_and_every_read_one_exists(context: KedroContext) -> None:
    # Names with an underscore are for interpolation alone.
    parameters = context.config_loader["parameters"].items()
    configured = set(leaves({name: value for name, value in parameters if not name.startswith("_")}))
    read = {
        name.removeprefix("params:")
        for pipeline in pipelines.values()
        for name in pipeline.inputs()
        if is_parameter(name)
    }
    unread = [name for name in configured if not any(f"{name}.".startswith(f"{prefix}.") for prefix in read)]
    missing = [
        prefix for prefix in read if not any(f"{name}.".startswith(f"{prefix}.") for name in configured)
    ]
    assert (unread, missing) == ([], [])


def test_every_option_class_accepts_the_configuration(context: KedroContext) -> None:
    # Kedro builds the options classes from the parameters when it first gives them out.
    for setting in SETTINGS:
        assert context.params[setting]["setting"].name == setting
        for method in method_names():
            assert context.params[setting][method].method == method


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_all_tables_share_one_connection(env: str) -> None:
    catalog = load_context(env).catalog
    names = {
        name for pipeline in pipelines.values() for name in pipeline.datasets() if not is_parameter(name)
    }
    connections = {
        str(dataset._connection_config)
        for name in names
        if isinstance(dataset := catalog.get(name), TableDataset)
    }
    assert len(connections) == 1
    assert "duckdb" in connections.pop()


def test_the_engine_is_chosen_by_a_parameter() -> None:
    catalog = load_context("base", engine="spark").catalog
    dataset = catalog.get("multilingual.pairs")
    assert isinstance(dataset, TableDataset)
    assert dataset._connection_config == {"backend": "pyspark"}


def test_every_method_task_and_sweep_has_its_file_and_its_configuration() -> None:
    folder = ROOT / "conf" / "base" / "parameters"
    assert sorted(path.stem for path in (folder / "methods").iterdir()) == method_names()
    assert sorted(path.stem for path in (folder / "tasks").iterdir()) == task_names()
    assert sorted(path.stem for path in (folder / "sweeps").iterdir()) == sorted(SWEEPS)
