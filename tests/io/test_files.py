"""Files and folders under their final names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from kedro.io.core import Version
from safetensors.numpy import save_file

from ease.datasets.files import PathDataset
from ease.io.atomic import atomic_folder
from ease.io.files import hash_contents


@pytest.fixture(params=[0o022, 0o002, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """A umask of the user's."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def permissions(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_permissions_follow_the_umask_whatever_libraries_set(umask: int, tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "model") as aside:
        (aside / "deep").mkdir()
        for file in (aside / "model.safetensors", aside / "deep" / "parts.safetensors"):
            save_file({"weights": np.zeros(3)}, file)
            file.chmod(0o600)
    table = tmp_path / "table.safetensors"
    save_file({"weights": np.zeros(3)}, table)
    table.chmod(0o600)
    dataset = PathDataset(filepath=str(tmp_path / "kept.safetensors"), version=Version(None, "1"))
    dataset.save(table)
    files = [path for path in tmp_path.rglob("*.safetensors") if path.is_file()]
    assert len(files) == 3
    assert {permissions(file) for file in files} == {0o666 & ~umask}
    assert not [path for path in tmp_path.rglob(".*") if path.is_file()]


def test_the_hash_of_a_folder_depends_on_the_folders_of_its_files(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name / name).mkdir(parents=True)
        (tmp_path / name / name / "file").write_text("text")
    assert hash_contents(tmp_path / "one") != hash_contents(tmp_path / "other")
