"""Atomic writes of files and folders."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from ease.errors import EaseError
from ease.io.atomic import atomic_folder, atomic_path, atomic_shared_folder, write_text_atomically


def test_a_file_or_folder_replaces_an_older_one(tmp_path: Path) -> None:
    for text in ("old", "new"):
        write_text_atomically(tmp_path / "file", text)
        with atomic_folder(tmp_path / "folder") as folder:
            (folder / text).write_text(text)
            assert (tmp_path / "folder").exists() is (text == "new"), "renamed at the end"
    assert (tmp_path / "file").read_text() == "new"
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["new"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_content_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, folder = tmp_path / "file", tmp_path / "folder"
    done: list[int | Path] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(descriptor: int) -> None:
        done.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    def noted_replace(old: Path, new: Path) -> None:
        done.append(Path(new))
        replace(old, new)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    write_text_atomically(file, "text")
    with atomic_folder(folder) as partial:
        (partial / "rows").touch()
    numbers = [path.stat().st_ino for path in (file, folder / "rows", folder)]
    assert done == [numbers[0], file, *numbers[1:], folder]


def test_an_error_leaves_the_older_file_and_no_partial_one(tmp_path: Path) -> None:
    write_text_atomically(tmp_path / "file", "old")

    def fail() -> None:
        with atomic_path(tmp_path / "file") as partial:
            partial.write_text("new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_a_copied_folder_that_does_not_fit_is_one_line(small_disk: Path, tmp_path: Path) -> None:
    (source := tmp_path / "source").mkdir()
    for name in ("first", "second"):
        (source / name).write_bytes(bytes(100_000))
    with pytest.raises(EaseError, match=r"Cannot write to \S+/copied \(No space left on device\): make room"):
        with atomic_folder(small_disk / "copied") as folder:
            shutil.copytree(source, folder, dirs_exist_ok=True)
    assert list(small_disk.iterdir()) == []


def test_an_input_that_is_missing_is_not_an_error_of_writing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "written" / "file") as partial:
        partial.write_text((tmp_path / "read" / "missing").read_text())
    broken = tmp_path / "broken.safetensors"
    broken.write_text("no tensors")
    with pytest.raises(SafetensorError), atomic_path(tmp_path / "written" / "file") as partial:
        save_file(load_file(broken), partial)


def test_a_partial_folder_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    partial = tmp_path / ".folder.part"
    partial.mkdir()
    (partial / "leftover").touch()
    with atomic_folder(tmp_path / "folder") as folder:
        assert folder == partial
        (folder / "file").touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["folder", "file"]


def test_a_shared_folder_keeps_the_first_result(tmp_path: Path) -> None:
    with atomic_shared_folder(tmp_path / "part") as slow:
        (slow / "rows").write_text("slow")
        with atomic_shared_folder(tmp_path / "part") as fast:
            (fast / "rows").write_text("fast")
    assert (tmp_path / "part" / "rows").read_text() == "fast"
    assert [path.name for path in tmp_path.iterdir()] == ["part"]


def test_a_file_in_the_way_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EaseError, match=r"Cannot write to .*file/below \(File exists\)"):
        write_text_atomically(tmp_path / "file" / "below", "text")
