"""A faulty command is refused with a message and leaves no output."""

from __future__ import annotations

import re
from pathlib import Path

from tests.project import Project


def kept(project: Project) -> set[Path]:
    """Return all files except MLflow's, which records failed runs, and those that the next run resumes from."""
    data = project.folder / "data"
    apart = (data / "08_reporting" / "mlflow", data / "06_models" / "work", data / "01_raw" / "sample")
    files = (path for path in data.rglob("*") if path.is_file())
    return {path for path in files if not str(path).startswith(tuple(map(str, apart)))}


def test_a_faulty_command_is_refused_and_leaves_nothing(copy: Project) -> None:
    before = kept(copy)
    limits = {"multilingual__pairs__min_characters": 900, "multilingual__pairs__max_characters": 901}
    done = copy.run("entity_pairs", check=False, **limits)
    assert done.returncode == 1
    expected = (
        r"^None of [1-9]\d* pairs of a sentence and an entity is left; removed: [1-9]\d* by `min_link_count` "
        r".*; [1-9]\d* by `min_characters`\. Relax these limits, or use larger dumps"
    )
    assert re.search(expected, f"\n{done.stderr}".partition("\nError: ")[2], re.DOTALL), done.stderr
    assert "Traceback" not in done.stderr
    finished = "entity_vocabulary.parquet"  # saved before the error, and kept
    assert {path for path in kept(copy) - before if finished not in path.parts} == set()
    assert before <= kept(copy)
