"""Versions are saved atomically, a run loads those that it saved, and previews have a few readable rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import pandas as pd
import pytest
from kedro.io import DatasetError, Version

from ease.datasets.files import FigureDataset, JSONDataset, PathDataset, RowsDataset, ScoresDataset
from ease.datasets.tables import PartsDataset, TableDataset
from ease.reporting.plots import plot_curves
from tests.contexts import load_catalog

if TYPE_CHECKING:
    from tests.project import Project

DUCKDB = {"backend": "duckdb", "database": ":memory:"}


def table_dataset(path: Path, version: Version | None = None) -> TableDataset:
    return TableDataset(filepath=str(path), connection=DUCKDB, version=version or Version(None, None))


def test_the_link_points_to_the_newest_version_and_is_no_version(tmp_path: Path) -> None:
    def dataset(version: Version) -> PathDataset:
        return PathDataset(filepath=str(tmp_path / "model"), version=version, link=str(tmp_path / "latest"))

    for number in (1, 2):
        (tmp_path / "made").mkdir()
        (tmp_path / "made" / "weights").write_text(str(number))
        dataset(Version(None, f"2026-01-0{number}T00.00.00.000Z")).save(tmp_path / "made")
        assert (tmp_path / "latest" / "weights").read_text() == str(number)
    assert (tmp_path / "latest").is_symlink()
    assert not Path((tmp_path / "latest").readlink()).is_absolute(), "a moved project keeps its links"
    newest = dataset(Version(None, None))
    assert newest.resolve_load_version() == "2026-01-02T00.00.00.000Z"
    assert (newest.load() / "weights").read_text() == "2"


def test_a_copy_in_the_place_of_the_link_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Tools that follow links leave one when they copy a project."""
    for folder in ("latest", "made"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "weights").write_text(folder)
    version = Version(None, "2026-01-01T00.00.00.000Z")
    PathDataset(filepath=str(tmp_path / "model"), version=version, link=str(tmp_path / "latest")).save(
        tmp_path / "made"
    )
    assert "latest is not the version just saved" in caplog.text
    assert (tmp_path / "latest" / "weights").read_text() == "latest"


def test_a_failed_save_leaves_no_version(tmp_path: Path) -> None:
    dataset = table_dataset(tmp_path / "t.parquet")
    broken = ibis.memtable({"a": ["1", "no number"]}).mutate(a=ibis._.a.cast("int64"))
    with pytest.raises(DatasetError, match="no number"):
        dataset.save(broken)
    assert not table_dataset(tmp_path / "t.parquet").exists()


def test_scores_of_earlier_runs_are_kept_until_they_are_replaced(tmp_path: Path) -> None:
    def save(number: int, *rows: tuple[str, str, str, float]) -> list[tuple[Any, ...]]:
        names = ("method", "model", "task", "value")
        version = Version(None, f"2026-01-0{number}T00.00.00.000Z")
        dataset = ScoresDataset(filepath=str(tmp_path / "scores.json"), version=version, missing_ok=True)
        dataset.save([{**dict(zip(names, row, strict=True)), "subset": "s", "metric": "m"} for row in rows])
        return [tuple(row[name] for name in names) for row in dataset.load()]

    one, other = ("a", "1", "stsb", 1.0), ("b", "1", "stsb", 2.0)
    assert save(1, one, other) == [one, other]
    better, further = ("a", "1", "stsb", 3.0), ("a", "1", "sickr", 4.0)
    assert save(2, better, further) == [other, better, further]
    newer = ("a", "2", "sickr", 5.0)
    assert save(3, newer) == [other, newer], "scores of a method's older model are not kept for its new model"
    assert save(4) == [other, newer]


def test_a_dataset_without_versions_is_empty_with_missing_ok(tmp_path: Path) -> None:
    unpinned = Version(None, None)
    assert JSONDataset(filepath=str(tmp_path / "a.json"), version=unpinned, missing_ok=True).load() == []
    assert PathDataset(filepath=str(tmp_path / "b"), version=unpinned, missing_ok=True).load() is None
    table = TableDataset(filepath=str(tmp_path / "c"), connection=DUCKDB, version=unpinned, missing_ok=True)
    assert table.load() is None
    assert table.preview() == {"index": [], "columns": [], "data": []}
    with pytest.raises(DatasetError, match="Did not find any versions"):
        JSONDataset(filepath=str(tmp_path / "a.json"), version=unpinned).load()
    with pytest.raises(DatasetError, match="no such version"):
        PathDataset(filepath=str(tmp_path / "b"), version=Version("x", None), missing_ok=True).load()


def test_a_run_loads_what_it_saved_and_not_a_newer_version(tmp_path: Path) -> None:
    mine = table_dataset(tmp_path / "t.parquet", Version(None, "2026-01-01T00.00.00.000Z"))
    mine.save(ibis.memtable({"a": [1]}))
    other = table_dataset(tmp_path / "t.parquet", Version(None, "2026-01-02T00.00.00.000Z"))
    other.save(ibis.memtable({"a": [2]}))
    mine.release()
    assert mine.load().to_pandas()["a"].tolist() == [1]
    assert table_dataset(tmp_path / "t.parquet").load().to_pandas()["a"].tolist() == [2]


def test_parts_are_one_table_in_their_order_and_outlive_the_cache(tmp_path: Path) -> None:
    parts = []
    for number in (3, 1, 2):
        part = tmp_path / "cache" / f"{number}.parquet"
        part.parent.mkdir(exist_ok=True)
        ibis.duckdb.connect().to_parquet(ibis.memtable({"n": [number]}), part)
        parts.append(part)
    dataset = PartsDataset(filepath=str(tmp_path / "t"), connection=DUCKDB, version=Version(None, None))
    dataset.save(parts)
    for part in parts:
        part.unlink()
    assert dataset.load().to_pandas()["n"].tolist() == [3, 1, 2]
    with pytest.raises(DatasetError, match="No part to save"):
        dataset.save([])
    whole = PartsDataset(filepath=str(tmp_path / "w"), connection=DUCKDB, version=Version(None, None))
    whole.save(ibis.memtable({"a": [1, 2]}))
    assert whole.load().to_pandas().to_dict("list") == {"a": [1, 2]}
    assert [path.name for path in tmp_path.glob("w/*/*")] == ["w"]


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


def test_the_catalog_shows_labelled_pairs_of_all_languages(project: Project) -> None:
    dataset: Any = load_catalog(project).get("multilingual.training_pairs")
    shown = records(dataset.preview(**dataset.metadata["kedro-viz"]["preview_args"]))
    assert {row["language"] for row in shown} == {"ar", "de", "en", "ja"}
    assert all(row["entity_label"] and not row["entity_label"].isdigit() for row in shown)
    assert any(row["hard_negative_label"] for row in shown)
    assert all(bool(row["hard_negative_label"]) == bool(row["hard_negative"]) for row in shown)
