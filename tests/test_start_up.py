"""The start of the command line imports no slow library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

from ease.methods import get_method, method_names, reads_entities
from ease.pipeline_registry import register_pipelines
from tests.project import ROOT, make_project

SLOW = (
    "torch",
    "transformers",
    "sentence_transformers",
    "sklearn",
    "scipy.stats",
    "ibis.expr",
    "duckdb",
    "IPython",
)
"""Modules that take half a second or more to import; `ibis.expr` shows that Ibis itself was imported."""

LIST_IMPORTED = """
import sys
from kedro.framework.cli.cli import main
try:
    main()
finally:
    print("IMPORTED", *sys.modules, file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("registry", "list"), ("run", "--pipelines=nope")])
def test_a_command_that_runs_nothing_imports_no_slow_library(arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-c", LIST_IMPORTED, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    imported = set(done.stderr.partition("IMPORTED ")[2].split())
    assert "ease.pipeline_registry" in imported, done.stderr
    assert imported.isdisjoint(SLOW), sorted(imported.intersection(SLOW))


@pytest.mark.slow
def test_a_run_without_a_training_does_not_import_torch(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LIST_IMPORTED, "run", "--pipelines=acquire"]
    done = subprocess.run(command, cwd=make_project(tmp_path).folder, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    imported = set(done.stderr.partition("IMPORTED ")[2].split())
    assert "ease.pipelines.acquire" in imported
    assert imported.isdisjoint({"torch", "transformers", "sentence_transformers", "sklearn"})


def test_resolving_the_type_hints_of_every_node_raises_nothing() -> None:
    for pipeline in register_pipelines().values():
        for node in pipeline.nodes:
            get_type_hints(node.func)


@pytest.mark.parametrize("name", method_names())
def test_the_source_of_a_method_says_whether_it_reads_entities(name: str) -> None:
    assert reads_entities(name) == get_method(name).reads_entities
