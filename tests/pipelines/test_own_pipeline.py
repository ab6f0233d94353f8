"""CONTRIBUTING's recipe for a pipeline: what `kedro pipeline create` makes is found, with its parameter."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import ROOT

pytestmark = pytest.mark.slow

NODES = """
def count_words(minimum: int) -> dict:
    return {"minimum": minimum}
"""
PIPELINE = """
from kedro.pipeline import Pipeline, node, pipeline

from .nodes import count_words


def create_pipeline() -> Pipeline:
    return pipeline([node(count_words, inputs="params:word_counts.minimum", outputs="word_counts", name="count_words")])
"""


def test_a_pipeline_is_found_by_its_folder_and_its_parameter_needs_no_registration(tmp_path: Path) -> None:
    for name in ("src", "conf"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "local"))
    shutil.copy2(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "conf" / "local").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}

    def kedro(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "kedro", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
        )

    created = kedro("pipeline", "create", "word_counts", "--skip-config")
    assert created.returncode == 0, created.stderr
    folder = tmp_path / "src" / "ease" / "pipelines" / "word_counts"
    (folder / "nodes.py").write_text(NODES)
    (folder / "pipeline.py").write_text(PIPELINE)
    (tmp_path / "conf" / "base" / "parameters" / "word_counts.yml").write_text("word_counts: {minimum: 2}\n")
    entry = "word_counts: {type: json.JSONDataset, filepath: data/word_counts.json}\n"
    (tmp_path / "conf" / "base" / "catalog" / "word_counts.yml").write_text(entry)
    # A dataset without versions is a file that the second run replaces.
    for minimum in (3, 4):
        run = kedro("run", "--pipelines=word_counts", "--params", f"word_counts.minimum={minimum}")
        assert run.returncode == 0, run.stderr
        assert "Done: 1 nodes." in run.stderr
    assert json.loads((tmp_path / "data" / "word_counts.json").read_text()) == {"minimum": 4}
    misspelt = kedro("run", "--pipelines=word_counts", "--params", "word_counts.minimun=3")
    assert "No pipeline reads the parameter `word_counts.minimun` given by --params" in misspelt.stderr
