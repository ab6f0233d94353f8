"""A pipeline's checks are found beside its nodes, also those of a pipeline in another package."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kedro.io import DataCatalog, MemoryDataset
from kedro.io.core import Version
from kedro.pipeline import node, pipeline
from kedro_datasets.pandas import CSVDataset

from ease.pipelines.checks import find_faults

NODES = """
def count_words(minimum):
    return minimum

def report(counts):
    return counts
"""
CHECKS = """
from ease.errors import EaseError
from own_pipelines.word_counts.nodes import count_words

def check_minimum(node, run):
    if run.parameter("minimum") < 1:
        raise EaseError("`minimum` is below 1.")

CHECKS = {count_words: [check_minimum, check_minimum]}
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package with a pipeline that has checks."""
    folder = tmp_path / "own_pipelines" / "word_counts"
    folder.mkdir(parents=True)
    for file in (folder.parent / "__init__.py", folder / "__init__.py"):
        file.touch()
    (folder / "nodes.py").write_text(NODES)
    (folder / "checks.py").write_text(CHECKS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "own_pipelines.word_counts"
    for name in [name for name in sys.modules if name.startswith("own_pipelines")]:
        del sys.modules[name]


def test_the_faults_of_a_pipeline_are_those_that_its_own_checks_find(package: str, tmp_path: Path) -> None:
    nodes = importlib.import_module(f"{package}.nodes")
    counting = pipeline(
        [
            node(nodes.count_words, inputs="params:minimum", outputs="counts", name="count_words"),
            node(nodes.report, inputs="counts", outputs="report", name="report"),
        ]
    )
    assert find_faults(counting, catalog_of(minimum=0), tmp_path, 0) == ["`minimum` is below 1."]
    assert find_faults(counting, catalog_of(minimum=1), tmp_path, 0) == []


def test_a_file_without_versions_may_be_written_again_and_not_in_place_of_a_folder_of_versions(tmp_path: Path) -> None:
    file = tmp_path / "counts.csv"
    file.write_text("word,count\n")
    counting = pipeline([node(lambda minimum: minimum, inputs="params:minimum", outputs="counts", name="count_words")])
    catalog = catalog_of(minimum=1)
    catalog["counts"] = CSVDataset(filepath=str(file))
    assert find_faults(counting, catalog, tmp_path, 0) == []
    catalog["counts"] = CSVDataset(filepath=str(file / "counts.csv"))
    assert find_faults(counting, catalog, tmp_path, 0) == [
        f"Cannot write to {file} (Not a directory): choose a folder that you may write to."
    ]
    catalog["counts"] = CSVDataset(filepath=str(file), version=Version(None, None))
    assert len(find_faults(counting, catalog, tmp_path, 0)) == 1


def catalog_of(minimum: int) -> DataCatalog:
    """Return a catalog with the parameters of the pipeline."""
    parameters = {"params:minimum": minimum, "params:engine": "duckdb"}
    return DataCatalog({name: MemoryDataset(value) for name, value in parameters.items()})
