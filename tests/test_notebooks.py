"""The notebooks run from top to bottom in a trained project, and are stored without outputs."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from IPython.core.inputtransformer2 import TransformerManager
from mlflow import MlflowClient
from nbclient import NotebookClient

from tests.project import ROOT, Project, make_project, params

pytestmark = pytest.mark.slow

NOTEBOOKS = ROOT / "notebooks"
PAGES = ROOT / "docs" / "notebooks"
LARGEST_PAGE = 300_000
"""Bytes of a notebook with its outputs"""
OLDER = "multilingual.simcse, older"
"""A scored run of SimCSE before that of the project."""


@pytest.fixture(scope="module")
def tracked(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A trained project with an older run of SimCSE, in which notebooks write an index of sentences."""
    copy = project.copy(tmp_path_factory.mktemp("tracked") / "copy")
    client = MlflowClient(copy.store)
    older = client.create_run("1", start_time=1, run_name=OLDER)
    client.log_metric(older.info.run_id, "sample_parallel/average", 0)
    return copy


Execute = Callable[..., nbformat.NotebookNode]


@pytest.fixture(scope="module")
def execute(tracked: Project) -> Iterator[Execute]:
    """Return a function that runs a notebook, with other values of its upper-case names.

    All notebooks run in one kernel, which forgets the names of the one before, but has its libraries.
    """
    folder = tracked.folder / "notebooks"
    folder.mkdir()
    notebook = nbformat.v4.new_notebook()
    client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}})

    def run(name: str, **values: Any) -> nbformat.NotebookNode:
        read = read_notebook(name, **values)
        loaded = "get_ipython().extension_manager.loaded.discard('kedro.ipython')"
        start = nbformat.v4.new_code_cell(f"%reset -f\n%cd -q {folder}\n{loaded}")
        notebook.cells = [start, *read.cells]
        for index, cell in enumerate(notebook.cells):
            client.execute_cell(cell, index)
        assert not any(folder.iterdir()), "a path is relative to the notebook instead of the project"
        return read

    with client.setup_kernel(env={**os.environ, "MLFLOW_TRACKING_URI": tracked.store}):
        yield run


def read_notebook(name: str, **values: Any) -> nbformat.NotebookNode:
    """Return a notebook with other values of its upper-case names."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    for cell in notebook.cells:
        for constant, value in values.items():
            cell.source = re.sub(rf"(?m)^{constant} = .*$", f"{constant} = {value!r}", cell.source)
    return notebook


def shown(notebook: nbformat.NotebookNode, kind: str) -> list[Any]:
    """Return all outputs of a MIME type."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output.data[kind] for output in outputs if kind in output.get("data", {})]


def test_the_latest_runs_of_two_methods_are_compared(execute: Execute, tracked: Project) -> None:
    client = MlflowClient(tracked.store)
    runs = {run.info.run_name.partition(",")[0]: run for run in client.search_runs(["1"], f"run_name != '{OLDER}'")}
    simcse, ease = runs["multilingual.simcse"], runs["multilingual.ease"]
    notebook = execute("compare_runs")
    text = "\n".join(shown(notebook, "text/plain"))
    assert "training.batch_size" not in text, "equal parameters are shown"
    # pandas prints a wide table in parts.
    parts = [line.split()[1:] for line in text.splitlines() if "options.entity_weight" in line]
    assert [value for part in parts for value in part] == ["–", ease.data.params["options.entity_weight"]]
    row = next(line for line in text.splitlines() if "average" in line)
    one, other = (run.data.metrics["sample_parallel/average"] for run in (simcse, ease))
    scores = [one, other, other - one]
    assert [float(cell) for cell in row.split()[-3:]] == pytest.approx(scores, abs=0.051)
    curves, bars = shown(notebook, "application/vnd.plotly.v1+json")
    assert {trace["name"] for trace in curves["data"] if "name" in trace} == {"SimCSE", "EASE"}
    languages = [set(trace["y"]) for trace in bars["data"] if "de" in trace["y"]]
    assert {len(each) for each in languages} == {17}
    assert {"de", "ja"} < languages[0]


def test_notebooks_have_no_outputs() -> None:
    for path in NOTEBOOKS.glob("*.ipynb"):
        cells = nbformat.read(path, as_version=4).cells
        assert all(not cell.get("outputs") and not cell.get("execution_count") for cell in cells), path.name


def test_the_outputs_on_the_site_are_those_of_the_present_cells() -> None:
    names = {path.name for path in NOTEBOOKS.glob("*.ipynb")}
    assert names == {path.name for path in PAGES.glob("*.ipynb")}
    for name in names:
        kept, page = (nbformat.read(folder / name, as_version=4) for folder in (NOTEBOOKS, PAGES))
        cells = [[(cell.id, cell.cell_type, cell.source) for cell in one.cells] for one in (kept, page)]
        assert cells[0] == cells[1], f"{name} has changed: make docs-notebooks ARGS={name.removesuffix('.ipynb')}"
        outputs = [output for cell in page.cells for output in cell.get("outputs", [])]
        assert all(output.output_type in ("display_data", "execute_result") for output in outputs), name
        assert any({"image/svg+xml", "image/png"} & output.data.keys() for output in outputs), f"no picture in {name}"
        assert str(ROOT.parent) not in json.dumps(outputs), f"{name} names a folder of the machine that ran it"
        assert (PAGES / name).stat().st_size < LARGEST_PAGE, name


def text_of(notebook: nbformat.NotebookNode) -> str:
    """Return the outputs as text; styled tables without their HTML."""
    html = (re.sub(r"<style.*?</style>|<[^>]+>", " ", each, flags=re.DOTALL) for each in shown(notebook, "text/html"))
    return "\n".join((*shown(notebook, "text/plain"), *html))


def test_quickstart_shows_scores_and_searches_across_languages(execute: Execute, tracked: Project) -> None:
    text = text_of(execute("quickstart", TEXT="Euro", MODEL="ease"))
    assert "sample_parallel" in text
    assert "average" in text
    for language in ("ar", "de", "en", "ja"):
        assert re.search(rf"\s{language}\s", text)
    assert "日本の通貨は円です。" in text
    assert [*(tracked.folder / "data/07_model_output/search").rglob("*")], "no index is kept"


@pytest.mark.parametrize(("installed", "there"), [(False, False), (True, False), (True, True)])
def test_the_quickstart_makes_a_project_only_where_there_is_none(
    installed: bool, there: bool, bare: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = nbformat.read(NOTEBOOKS / "quickstart.ipynb", as_version=4).cells
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
    if not installed:
        with pytest.raises(AssertionError, match="Put EASE's wheel beside this notebook"):
            exec(TransformerManager().transform_cell(source), {"get_ipython": Shell})
        assert commands == []
        (tmp_path / "ease_embeddings-0.1.0-py3-none-any.whl").touch()
    exec(TransformerManager().transform_cell(source), {"get_ipython": Shell})
    made = ["ease-project ease-project", "cd ease-project && kedro run"]
    expected = [] if there else made if installed else ['pip install -q "{wheels[-1]}[project]"', *made]
    assert [command for command in commands if not command.startswith("apt-get")] == expected
    assert Path.cwd() == (bare.folder if there else tmp_path / "ease-project")


def test_pairs_are_shown_with_titles_and_types(execute: Execute, tracked: Project) -> None:
    text = text_of(execute("pairs_and_hard_negatives", LANGUAGE="de", ROWS=20))
    vocabulary = pd.read_parquet(tracked.latest("03_primary/multilingual/entity_vocabulary.parquet"))
    pairs = pd.read_parquet(tracked.latest("05_model_input/multilingual/training_pairs.parquet"))
    labels = vocabulary.set_index("entity")["label"]
    chosen = pairs[(pairs.language == "de") & pairs.hard_negative.notna()]
    shown_pairs = [row for row in chosen.itertuples() if row.sentence in text]
    assert len(shown_pairs) >= 10
    for row in shown_pairs:
        assert labels[row.entity] in text
        assert labels[int(row.hard_negative)] in text
    assert " none " not in text, "a hard negative shares no type with its entity"


def test_errors_of_two_models_are_counted(execute: Execute) -> None:
    notebook = execute("error_analysis", MODELS=["untrained", "ease"])
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
    given = dict(item.split("=", 1) for item in params().split(","))
    notebook = read_notebook("your_language", PARAMETERS={"teach.language": "eo", **given})
    client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(project.folder / "conf")}})
    client.execute(env={**os.environ, "DO_NOT_TRACK": "true"})
    (page,) = [text for text in shown(notebook, "text/markdown") if "gained and lost" in text]
    assert page.startswith("# Esperanto (eo)")
    assert "nearest in en" in text_of(notebook)
