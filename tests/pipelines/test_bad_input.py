"""Wrong commands and inputs are refused with a message and leave no output."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.project import Project

BAD: list[tuple[str, dict[str, Any], str]] = [
    (
        "acquire",
        {"acquire__wikidata": "null"},
        "only Wikidata identifies the same entity .*Give a Wikidata JSON dump, .* or give one language",
    ),
    (
        "ingest",
        {"multilingual__setting__languages": "en ja"},
        "The located dumps are of en ja ar de, but `multilingual.setting.languages` are en ja: run `acquire` with",
    ),
    (
        "entity_pairs",
        {"multilingual__pairs__min_characters": 900, "multilingual__pairs__max_characters": 901},
        r"None of [1-9]\d* pairs of a sentence and an entity is left; removed: [1-9]\d* by `min_link_count` "
        r".*; [1-9]\d* by `min_characters`\. Relax these limits, or use larger dumps",
    ),
    (
        "train",
        {"multilingual__ease__training__batch_size": 10**6},
        r"[1-9]\d* training pairs do not fill a batch of 1000000: lower `batch_size`, or loosen the filters",
    ),
]
"""Pipelines, parameters with `__` in place of dots, and the messages"""
FINISHED = "entity_vocabulary.parquet"
"""What is saved before the error of `entity_pairs`, and is kept"""


def kept(project: Project) -> set[Path]:
    """Return all files except MLflow's, which records failed runs, and those that the next run resumes from."""
    data = project.folder / "data"
    apart = (data / "08_reporting" / "mlflow", data / "06_models" / "work", data / "01_raw" / "sample")
    files = (path for path in data.rglob("*") if path.is_file())
    return {path for path in files if not str(path).startswith(tuple(map(str, apart)))}


@pytest.fixture(scope="module")
def trained(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the project for all faulty commands, which must neither remove versions nor leave partial ones."""
    return project.copy(tmp_path_factory.mktemp("trained") / "copy")


@pytest.mark.parametrize(("pipeline", "given", "expected"), BAD)
def test_a_faulty_command_is_refused_and_leaves_nothing(
    pipeline: str, given: dict[str, Any], expected: str, trained: Project
) -> None:
    before = kept(trained)
    chosen = ["--namespaces=multilingual.ease"] if pipeline == "train" else []
    done = trained.run(pipeline, *chosen, check=False, **given)
    assert done.returncode == 1
    assert re.search(expected, f"\n{done.stderr}".partition("\nError: ")[2], re.DOTALL), done.stderr
    assert "Traceback" not in done.stderr
    made = {path for path in kept(trained) - before if pipeline != "entity_pairs" or FINISHED not in path.parts}
    assert made == set()
    assert before <= kept(trained)
