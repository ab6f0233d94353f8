"""The notebooks that load the project by Kedro's extension run from top to bottom."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from IPython.core.inputtransformer2 import TransformerManager
from nbclient import NotebookClient

from tests.project import ROOT, Project, make_project, params
from tests.test_notebooks import shown

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trained(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A trained project, in which notebooks write an index of sentences."""
    return project.copy(tmp_path_factory.mktemp("notebooks") / "project")


def execute(project: Project, name: str, **values: Any) -> nbformat.NotebookNode:
    """Run a notebook in the project's folder `notebooks`, with other values of its upper-case names."""
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    for cell in notebook.cells:
        for constant, value in values.items():
            cell.source = re.sub(
                rf"^{constant} = .*$", f"{constant} = {value!r}", cell.source, flags=re.MULTILINE
            )
    folder = project.folder / "notebooks"
    folder.mkdir(exist_ok=True)
    client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}})
    client.execute(env={**os.environ, "DO_NOT_TRACK": "true"})
    assert not any(folder.iterdir()), "a path is relative to the notebook instead of the project"
    return notebook


def text_of(notebook: nbformat.NotebookNode) -> str:
    """Return the outputs as text; styled tables without their HTML."""
    html = (
        re.sub(r"<style.*?</style>|<[^>]+>", " ", each, flags=re.DOTALL)
        for each in shown(notebook, "text/html")
    )
    return "\n".join((*shown(notebook, "text/plain"), *html))


def test_quickstart_shows_scores_and_searches_across_languages(trained: Project) -> None:
    text = text_of(execute(trained, "quickstart", TEXT="Euro", MODEL="ease"))
    assert "sample_parallel" in text
    assert "average" in text
    for language in ("ar", "de", "en", "ja"):
        assert re.search(rf"\s{language}\s", text)
    assert "日本の通貨は円です。" in text
    assert [*(trained.folder / "data/07_model_output/search").rglob("*")], "no index is kept"


@pytest.mark.parametrize(("installed", "there"), [(False, False), (True, False), (True, True)])
def test_the_quickstart_makes_a_project_only_where_there_is_none(
    installed: bool, there: bool, bare: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = nbformat.read(ROOT / "notebooks" / "quickstart.ipynb", as_version=4).cells
    source = next(cell.source for cell in cells if cell.cell_type == "code")
    commands: list[str] = []

    class Shell:
        def system(self, command: str) -> None:
            commands.append(command)
            if command.startswith("ease-project"):
                (tmp_path / "ease-project").mkdir()

        def run_line_magic(self, name: str, line: str) -> None:
            commands.append(f"{name} {line}")

    monkeypatch.setattr("importlib.util.find_spec", lambda name: object() if installed else None)
    monkeypatch.chdir(bare.folder if there else tmp_path)
    exec(TransformerManager().transform_cell(source), {"get_ipython": Shell})
    made = ["ease-project ease-project", "cd ease-project && kedro run"]
    expected = [] if there else made if installed else ["pip install -q ease-embeddings", *made]
    assert [command for command in commands if not command.startswith("apt-get")] == expected
    assert Path.cwd() == (bare.folder if there else tmp_path / "ease-project")


def test_pairs_are_shown_with_titles_and_types(trained: Project) -> None:
    text = text_of(execute(trained, "pairs_and_hard_negatives", LANGUAGE="de", ROWS=20))
    vocabulary = pd.read_parquet(trained.latest("03_primary/multilingual/entity_vocabulary.parquet"))
    pairs = pd.read_parquet(trained.latest("05_model_input/multilingual/training_pairs.parquet"))
    labels = vocabulary.set_index("entity")["label"]
    chosen = pairs[(pairs.language == "de") & pairs.hard_negative.notna()]
    shown_pairs = [row for row in chosen.itertuples() if row.sentence in text]
    assert len(shown_pairs) >= 10
    for row in shown_pairs:
        assert labels[row.entity] in text
        assert labels[int(row.hard_negative)] in text
    assert " none " not in text, "a hard negative shares no type with its entity"


def test_errors_of_two_models_are_counted(trained: Project) -> None:
    notebook = execute(trained, "error_analysis", MODELS=["untrained", "ease"])
    text = text_of(notebook)
    assert "only untrained" in text
    assert "found by ease" in text
    size = re.search(r"\((\d+), \['ar', 'de', 'ja'\]\)", text)
    assert size
    (counts,) = [table for table in shown(notebook, "text/html") if "only ease</th>" in table]
    directions = 2 * 3
    assert sum(int(count) for count in re.findall(r"<td>(\d+)</td>", counts)) == directions * int(size[1])


@pytest.mark.long
def test_a_language_is_taught(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    small = {
        "teach.setting.encoder.random.layers": 1,
        "teach.setting.encoder.random.hidden_size": 32,
        "teach.setting.encoder.random.vocabulary_size": 1000,
        "teach.mlm.training.max_steps": 6,
        "teach.ease_plus.training.max_steps": 6,
    }
    given = dict(item.split("=", 1) for item in params().split(","))
    notebook = execute(project, "your_language", PARAMETERS={"teach.language": "eo", **given, **small})
    (page,) = [text for text in shown(notebook, "text/markdown") if "gained and lost" in text]
    assert page.startswith("# Esperanto (eo)")
    assert "nearest in en" in text_of(notebook)
