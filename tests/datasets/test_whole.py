"""Versions appear whole or not at all, and a run loads what it saved."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import ibis
import plotly.graph_objects as go
import pytest
from kedro.io import DatasetError, Version

from ease.datasets.tables import PartsDataset, TableDataset
from ease.datasets.whole import FigureDataset, JSONDataset, PathDataset

DUCKDB = {"backend": "duckdb", "database": ":memory:"}


def table_dataset(path: Path, version: Version | None = None) -> TableDataset:
    return TableDataset(filepath=str(path), connection=DUCKDB, version=version or Version(None, None))


def test_a_table_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    dataset = table_dataset(tmp_path / "t.parquet")
    dataset.save(ibis.memtable({"a": [1, 2], "b": ["x", "y"]}))
    assert dataset.load().to_pandas().to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}


def test_a_failed_save_leaves_no_version(tmp_path: Path) -> None:
    dataset = table_dataset(tmp_path / "t.parquet")
    broken = ibis.memtable({"a": ["1", "no number"]}).mutate(a=ibis._.a.cast("int64"))
    with pytest.raises(DatasetError, match="no number"):
        dataset.save(broken)
    assert not table_dataset(tmp_path / "t.parquet").exists()


KILLED_IN_THE_MIDDLE = """
    import os, signal, sys
    from kedro.io import Version
    from ease.datasets.whole import JSONDataset

    import json
    def dump(data, file, **options):
        file.write("[" + ",".join(map(str, range(100_000))))
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    json.dump = dump
    JSONDataset(filepath=sys.argv[1], version=Version(None, None)).save([1])
"""


def test_a_kill_during_a_save_leaves_nothing_that_is_taken_for_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED_IN_THE_MIDDLE), str(path)], check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert list(path.rglob(".t.json.part")), "the save had begun"
    dataset = JSONDataset(filepath=str(path), version=Version(None, None))
    assert not dataset.exists()
    dataset.save({"whole": True})
    assert dataset.load() == {"whole": True}


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


def test_no_part_at_all_is_refused(tmp_path: Path) -> None:
    dataset = PartsDataset(filepath=str(tmp_path / "t"), connection=DUCKDB, version=Version(None, None))
    with pytest.raises(DatasetError, match="No part to save"):
        dataset.save([])


def test_a_folder_is_taken_over_whole(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights").write_text("w")
    dataset = PathDataset(filepath=str(tmp_path / "kept"), version=Version(None, None))
    assert not dataset.exists()
    dataset.save(folder)
    assert (dataset.load() / "weights").read_text() == "w"
    assert not folder.exists()


def test_a_figure_comes_back(tmp_path: Path) -> None:
    dataset = FigureDataset(filepath=str(tmp_path / "f.json"), version=Version(None, None))
    dataset.save(go.Figure(go.Bar(x=["a"], y=[1])))
    assert dataset.load().data[0].y == (1,)


def test_the_preview_shows_lists_as_text(tmp_path: Path) -> None:
    dataset = table_dataset(tmp_path / "t.parquet")
    dataset.save(ibis.memtable({"a": [1, 2], "links": [[1, 2], [3]]}))
    preview = dataset.preview()
    assert preview["columns"] == ["a", "links"]
    assert preview["data"][0][0] == 1
    assert isinstance(preview["data"][0][1], str)
