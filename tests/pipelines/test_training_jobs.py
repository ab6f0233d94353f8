"""Which file of pairs a training reads: the catalog's own, or an ordered copy."""

from __future__ import annotations

from pathlib import Path

import ibis
import pandas as pd
import pytest
from kedro.io.core import Version

from ease.datasets.tables import PartsDataset, TableDataset
from ease.pipelines.training import ordered_file

ROWS = pd.DataFrame({"pair_id": [2, 0, 1], "sentence": ["c", "a", "b"]})


def table_dataset(kind: type[TableDataset], folder: Path) -> TableDataset:
    """Create a versioned table."""
    place = str(folder / "pairs.parquet")
    return kind(filepath=place, connection={"backend": "duckdb"}, version=Version(None, "one"))


@pytest.mark.parametrize("kind", [TableDataset, PartsDataset])
def test_training_reads_the_catalogs_own_file_if_its_rows_are_in_order(
    kind: type[TableDataset], tmp_path: Path
) -> None:
    dataset = table_dataset(kind, tmp_path)
    dataset.save(ibis.memtable(ROWS).order_by("pair_id"))
    file = ordered_file(dataset.load(), "pair_id", tmp_path / "copy.parquet")
    assert file == dataset.folder_of("one") / "pairs.parquet"
    assert not (tmp_path / "copy.parquet").exists()


@pytest.mark.parametrize("change", ["unordered", "filtered", "two files"])
def test_training_reads_an_ordered_copy_of_any_other_table(change: str, tmp_path: Path) -> None:
    parts = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    ROWS[:2].sort_values("pair_id").to_parquet(parts[0])
    ROWS[2:].to_parquet(parts[1])
    dataset = table_dataset(PartsDataset if change == "two files" else TableDataset, tmp_path)
    dataset.save(parts if change == "two files" else ibis.memtable(ROWS))
    table = dataset.load()
    if change == "filtered":
        table = table.filter(table.pair_id > 0)
    file = ordered_file(table, "pair_id", tmp_path / "copy.parquet")
    assert file == tmp_path / "copy.parquet"
    expected = [1, 2] if change == "filtered" else [0, 1, 2]
    assert pd.read_parquet(file)["pair_id"].to_list() == expected
