"""Versions are saved atomically, and a run loads the versions that it saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import pytest
from kedro.io import DatasetError, Version

from ease.datasets.files import JSONDataset, PathDataset, ScoresDataset
from ease.datasets.tables import PartsDataset, TableDataset

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
