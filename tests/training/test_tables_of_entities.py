"""Faults of the entity table's file, and of a table that is not the vocabulary's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from ease.errors import EaseError
from ease.training import read_table, run_job
from tests.training.tiny_training import MakeJob


def save(path: Path, **tensors: np.ndarray) -> Path:
    save_file(tensors, path)
    return path


def test_half_precision_is_read_as_single(tmp_path: Path) -> None:
    table = read_table(save(tmp_path / "table.safetensors", rows=np.ones((3, 2), dtype=np.float16)))
    assert table.dtype == torch.float32
    assert table.shape == (3, 2)


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
    with pytest.raises(EaseError, match="has 10 entities and .* 3 rows"):
        run_job(make_job(table=save(tmp_path / "short.safetensors", rows=ones)))
