"""The command line prints what the library returns, and errors in one line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ease.search.__main__ import main


def run(project: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--project", str(project)])


def test_find_prints_sentences_with_pages_entities_and_reasons(made: Path) -> None:
    done = run(made, "find", "Die Währung: Yen", "--language=de", "-k", "1", "--reader=de")
    assert done.exit_code == 0, done.output
    lines = [line.strip() for line in done.output.splitlines()]
    assert lines[0].endswith("de  Yen ist die Währung von Japan.")
    assert lines[1] in ("page: Yen and 1 more", "page: Japan and 1 more")
    assert set(lines[2].removeprefix("entities: ").split(", ")) == {"Japan", "Japanischer Yen"}
    assert lines[4] == "shared words: Die, Währung, Yen"


def test_entities_and_build(made: Path) -> None:
    near = run(made, "entities", "Yen", "-k", "2")
    assert near.exit_code == 0, near.output
    assert len(near.output.splitlines()) == 2
    assert "yen (8146)" in run(made, "entities", "Yen", "--model=untrained").output
    built = run(made, "build", "--model=untrained")
    assert "6 sentences in " in built.output
    assert "data/07_model_output/search/multilingual/untrained/" in built.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["find", "Yen", "--model=eese"], "No model 'eese' of the setting 'multilingual'"),
        (["find", "Yen", "--reader=zz"], "Unknown language 'zz' in `--reader`"),
        (["serve", "--host=192.0.2.1"], "Cannot listen at 192.0.2.1:8000"),
    ],
)
def test_errors_are_one_line_that_names_what_to_do(made: Path, arguments: list[str], message: str) -> None:
    done = run(made, *arguments)
    assert done.exit_code == 1
    (line,) = done.output.splitlines()
    assert line.startswith("Error: ")
    assert message in line


def test_an_index_without_links_has_no_entities(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "own")
    shutil.rmtree(tmp_path / "own/data/02_intermediate/multilingual/links.parquet")
    for _ in range(2):
        done = run(tmp_path / "own", "entities", "Yen", "--model=untrained")
        assert done.exit_code == 1
        assert "links to an entity: choose another --setting" in done.output
        assert run(tmp_path / "own", "find", "Yen", "--model=untrained").exit_code == 0
