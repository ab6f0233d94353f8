"""Wrong commands and inputs are refused with a message and leave no output."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.project import Project


class Bad(NamedTuple):
    """A faulty command."""

    pipeline: str
    given: dict[str, Any]
    """Parameters, with `__` in place of dots"""
    expected: str
    """The expected message"""
    finished: str = "nothing"
    """A dataset that is saved before the error, and is kept"""


BAD = {
    "several languages without Wikidata": Bad(
        "acquire",
        {"acquire__wikidata": "null"},
        "only Wikidata identifies the same entity .*Give a Wikidata JSON dump, .* or give one language",
    ),
    "other languages than those of the dumps": Bad(
        "ingest",
        {"multilingual__setting__languages": "en ja"},
        "The located dumps are of en ja ar de, but `multilingual.setting.languages` are en ja: run `acquire` with",
    ),
    "no pair left": Bad(
        "entity_pairs",
        {"multilingual__pairs__min_characters": 900, "multilingual__pairs__max_characters": 901},
        r"None of [1-9]\d* pairs of a sentence and an entity is left; removed: [1-9]\d* by `min_link_count` "
        r".*; [1-9]\d* by `min_characters`\. Relax these limits, or use larger dumps",
        finished="entity_vocabulary.parquet",
    ),
    "batch larger than the data": Bad(
        "train",
        {"multilingual__ease__training__batch_size": 10**6},
        r"[1-9]\d* training pairs do not fill a batch of 1000000: lower `batch_size`, or loosen the filters",
    ),
}


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


@pytest.mark.parametrize("case", BAD)
def test_a_faulty_command_is_refused_and_leaves_nothing(case: str, trained: Project) -> None:
    before = kept(trained)
    pipeline = BAD[case].pipeline
    chosen = ["--namespaces=multilingual.ease"] if pipeline == "train" else []
    done = trained.run(pipeline, *chosen, check=False, **BAD[case].given)
    assert done.returncode == 1
    _, _, message = f"\n{done.stderr}".partition("\nError: ")
    assert re.search(BAD[case].expected, message, re.DOTALL), done.stderr
    assert "Traceback" not in done.stderr
    assert [path for path in kept(trained) - before if BAD[case].finished not in path.parts] == []
    assert before <= kept(trained)
