"""Previews of datasets for Kedro-Viz: a few readable rows of a large table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import pytest
from kedro.io import Version
from kedro_viz.models.flowchart.node_metadata import DataNodeMetadata
from kedro_viz.models.flowchart.nodes import GraphNode

from ease.datasets.files import FigureDataset, RowsDataset
from ease.datasets.tables import TableDataset
from ease.reporting.plots import plot_curves
from tests.contexts import load_catalog
from tests.project import Project

DUCKDB = {"backend": "duckdb", "database": ":memory:"}


def table_dataset(path: Path) -> TableDataset:
    return TableDataset(filepath=str(path), connection=DUCKDB, version=Version(None, None))


def records(preview: Any) -> list[dict[str, Any]]:
    """Return the rows of a preview as dictionaries by column."""
    assert preview["index"] == list(range(len(preview["data"])))
    return [dict(zip(preview["columns"], row, strict=True)) for row in preview["data"]]


def rows_dataset(path: Path, rows: list[dict[str, Any]]) -> RowsDataset:
    dataset = RowsDataset(filepath=str(path / "rows.json"), version=Version(None, None))
    dataset.save(rows)
    return dataset


def test_labels_are_shown_beside_entities(tmp_path: Path) -> None:
    vocabulary, pairs = tmp_path / "vocabulary.parquet", table_dataset(tmp_path / "pairs.parquet")
    table_dataset(vocabulary).save(ibis.memtable({"entity": [7, 8], "label": ["Rome", "Nile"]}))
    columns = {"pair_id": [0, 1, 2], "entity": [7, 8, 9], "hard_negative": [8, None, 7]}
    pairs.save(ibis.memtable(columns, schema=dict.fromkeys(columns, "int64")))
    preview = pairs.preview(labels={"columns": ["entity", "hard_negative"], "filepath": str(vocabulary)})
    assert preview["columns"] == ["pair_id", "entity", "entity_label", "hard_negative", "hard_negative_label"]
    assert preview["data"] == [[0, 7, "Rome", 8, "Nile"], [1, 8, "Nile", "", ""], [2, 9, "", 7, "Rome"]]
    without = pairs.preview(labels={"columns": ["entity"], "filepath": str(tmp_path / "none.parquet")})
    assert without["columns"] == list(columns), "pairs without a vocabulary are shown as they are"


@pytest.mark.parametrize(
    ("languages", "each"), [(["ar", "de", "en", "ja"], 5), (list("abcdefghijklmnopqrstuvwxyz"), 1)]
)
def test_rows_of_several_languages_are_shown(tmp_path: Path, languages: list[str], each: int) -> None:
    dataset = table_dataset(tmp_path / "pairs.parquet")
    rows = {"language": [name for name in languages for _ in range(30)], "number": [*range(30)] * len(languages)}
    dataset.save(ibis.memtable(rows))
    shown = records(dataset.preview(spread="language"))
    assert [(row["language"], row["number"]) for row in shown] == [
        (name, number) for name in languages[:20] for number in range(each)
    ]


def test_a_table_without_rows_or_languages_is_shown(tmp_path: Path) -> None:
    schema = {"language": "string", "entity": "int64"}
    for languages, entities in (([None, None], [1, 2]), ([], [])):
        dataset = table_dataset(tmp_path / f"{len(entities)}.parquet")
        dataset.save(ibis.memtable({"language": languages, "entity": entities}, schema=schema))
        preview = dataset.preview(spread="language")
        assert preview["columns"] == ["language", "entity"]
        assert [row[1] for row in preview["data"]] == entities


def test_cells_have_types_that_a_browser_can_display(tmp_path: Path) -> None:
    cells = {2**60 + 1: "1152921504606846977", -3: -3, 0.5: 0.5, True: "True", None: "", "x": "x", (1,): "[1]"}
    row = {str(number): value for number, value in enumerate([*cells, float("nan")])}
    assert rows_dataset(tmp_path, [row]).preview()["data"] == [[*cells.values(), ""]]


def test_chosen_columns_keep_their_order_and_a_history_has_a_row_for_each_step(tmp_path: Path) -> None:
    dataset = rows_dataset(tmp_path, [{"value": 1, "task": "a", "code": "x"}, {"value": 2, "task": "b"}])
    assert dataset.preview(columns=["task", "value"])["data"] == [["a", 1], ["b", 2]]
    assert dataset.preview()["data"] == [[1, "a", "x"], [2, "b", ""]]
    values = [(2, "loss", 3.0), (2, "rate", 0.1), (4, "loss", 2.0), (4, "development", 70.0)]
    points = [dict(zip(("step", "name", "value"), row, strict=True)) for row in values]
    (tmp_path / "history").mkdir()
    preview = rows_dataset(tmp_path / "history", points).preview(pivot=["step", "name", "value"])
    assert preview["columns"] == ["step", "loss", "rate", "development"]
    assert preview["data"] == [[2, 3.0, 0.1, ""], [4, 2.0, "", 70.0]]


def test_the_title_of_a_figure_is_above_its_panels_and_its_legend(tmp_path: Path) -> None:
    names = ["loss"] * 2 + ["rate"] * 2
    curves = {"method": ["ease", "simcse"] * 2, "step": 1, "name": names, "value": 1.0}
    figure = plot_curves(pd.DataFrame(curves))
    dataset = FigureDataset(filepath=str(tmp_path / "plot.json"), version=Version(None, None))
    dataset.save(figure)
    layout: Any = dict(dataset.preview())["layout"]
    assert "title" not in layout, "Kedro-Viz would move it onto the plot"
    *panels, heading = layout["annotations"]
    assert heading["text"] == "Training curves"
    assert [panel["text"] for panel in panels] == ["loss (nats)", "rate"]
    assert dataset.load().layout.title.text == "Training curves", "the saved figure keeps its title"


def preview_in_viz(project: Project, name: str) -> Any:
    """Return Kedro-Viz's response for a dataset of the catalog."""
    dataset = load_catalog(project).get(name)
    node = GraphNode.create_data_node(name, name, None, set(), dataset, None)
    metadata = DataNodeMetadata(data_node=node)
    assert metadata.preview_type == "TablePreview"
    return json.loads(json.dumps(metadata.preview))


def test_kedro_viz_shows_labelled_pairs_of_all_languages(project: Project) -> None:
    shown = records(preview_in_viz(project, "multilingual.training_pairs"))
    assert {row["language"] for row in shown} == {"ar", "de", "en", "ja"}
    assert all(row["entity_label"] and not row["entity_label"].isdigit() for row in shown)
    assert any(row["hard_negative_label"] for row in shown)
    assert all(bool(row["hard_negative_label"]) == bool(row["hard_negative"]) for row in shown)
