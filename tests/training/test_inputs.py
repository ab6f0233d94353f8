"""Errors of the entity embeddings' file, and embeddings of another vocabulary."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file, save_file

from ease.errors import EaseError
from ease.training.inputs import BLOCK_ROWS, read_table
from ease.training.job import run_job
from tests.training.tiny_training import MakeJob


def save(path: Path, **tensors: np.ndarray) -> Path:
    save_file(tensors, path)
    return path


def test_faulty_tables_are_named(tmp_path: Path, make_job: MakeJob) -> None:
    ones = np.ones((3, 2), dtype=np.float32)
    with pytest.raises(EaseError, match="expected one tensor, found 2"):
        read_table(save(tmp_path / "two.safetensors", first=ones, second=ones))
    with pytest.raises(EaseError, match=r"expected a matrix, found the shape \(3,\)"):
        read_table(save(tmp_path / "vector.safetensors", rows=ones[:, 0].copy()))
    text = tmp_path / "text.safetensors"
    text.write_text("no tensors", encoding="utf-8")
    with pytest.raises(EaseError, match="are not a safetensors file"):
        read_table(text)
    with pytest.raises(EaseError, match="are not a safetensors file"):
        read_table(tmp_path / "nowhere.safetensors")
    with pytest.raises(EaseError, match="has 3 rows, and the vocabulary 10 entities"):
        run_job(make_job(table=save(tmp_path / "short.safetensors", rows=ones)))


def test_only_the_requested_rows_are_read(tmp_path: Path) -> None:
    embeddings = np.arange(300_000, dtype=np.float32).reshape(150_000, 2)
    path = save(tmp_path / "table.safetensors", rows=embeddings)
    rows = np.array([0, BLOCK_ROWS - 1, BLOCK_ROWS, 149_999])
    assert np.array_equal(read_table(path, rows).numpy(), embeddings[rows])
    assert np.array_equal(read_table(path).numpy(), embeddings)


def test_unused_entities_are_not_read(make_job: MakeJob, files: Path, tmp_path: Path) -> None:
    vocabulary = pq.read_table(files / "vocabulary.parquet").to_pylist()
    small = load_file(files / "table.safetensors")["embeddings"]
    large = np.full((5 * len(small), small.shape[1]), np.nan, dtype=np.float32)
    large[2::5] = small
    rows = [{"row": 5 * entry["row"] + 2, "entity": entry["entity"]} for entry in vocabulary]
    others = [{"row": row, "entity": 1000 + row} for row in range(len(large)) if row % 5 != 2]
    pq.write_table(pa.Table.from_pylist([*others, *rows]), tmp_path / "vocabulary.parquet")
    job = make_job(
        vocabulary=tmp_path / "vocabulary.parquet", table=save(tmp_path / "large.safetensors", rows=large)
    )
    parts, usual = (
        load_file(result.model / "training" / "parts.safetensors")
        for result in (run_job(job), run_job(make_job("usual")))
    )
    assert parts["vocabulary_rows"].tolist() == list(range(2, len(large), 5))
    assert np.array_equal(parts["method.table.weight"], usual["method.table.weight"])
