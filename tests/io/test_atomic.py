"""Atomic writes of files and folders, their permissions and their hashes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from kedro.io.core import Version
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from ease.datasets.files import PathDataset
from ease.errors import EaseError
from ease.io.atomic import atomic_folder, atomic_path, atomic_shared_folder, write_text_atomically
from ease.io.files import hash_contents


def test_a_file_or_folder_replaces_an_older_one_unless_the_block_fails(tmp_path: Path) -> None:
    for text in ("old", "new"):
        write_text_atomically(tmp_path / "file", text)
        with atomic_folder(tmp_path / "folder") as folder:
            (folder / text).write_text(text)
            assert (tmp_path / "folder").exists() is (text == "new"), "renamed at the end"
    with pytest.raises(ZeroDivisionError), atomic_path(tmp_path / "file") as partial:
        partial.write_text(str(partial.write_text("newer") // 0))
    assert (tmp_path / "file").read_text() == "new"
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["new"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_content_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    done.clear()
    with atomic_folder(folder):
        pass
    assert done[1:] == [tmp_path / ".folder.old", folder]


def test_a_copied_folder_that_does_not_fit_is_one_line(small_disk: Path, tmp_path: Path) -> None:
    (source := tmp_path / "source").mkdir()
    for name in ("first", "second"):
        (source / name).write_bytes(bytes(100_000))
    with pytest.raises(EaseError, match=r"Cannot write to \S+/copied \(No space left on device\): make room"):
        with atomic_folder(small_disk / "copied") as folder:
            shutil.copytree(source, folder, dirs_exist_ok=True)
    assert list(small_disk.iterdir()) == []


def test_an_error_of_writing_is_reported_and_none_of_reading(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EaseError, match=r"Cannot write to .*file/below \(File exists\)"):
        write_text_atomically(tmp_path / "file" / "below", "text")
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "written" / "file") as partial:
        partial.write_text((tmp_path / "read" / "missing").read_text())
    broken = tmp_path / "broken.safetensors"
    broken.write_text("no tensors")
    with pytest.raises(SafetensorError), atomic_path(tmp_path / "written" / "file") as partial:
        save_file(load_file(broken), partial)


KILLED = """
import itertools, os, shutil, signal, sys
from pathlib import Path
from ease.io import atomic, locks

CALLS = ("chmod", "fsync", "mkdir", "open", "rename", "replace", "rmdir", "scandir", "unlink")
place, stop = Path(sys.argv[1]), signal.Signals[sys.argv[2]]

def write(text, last=None):
    # Writes a folder in a process that is stopped before its call of the system number `last`.
    if not (process := os.fork()):
        calls = itertools.count()
        def counted(call):
            def stopped(*arguments, **options):
                if next(calls) == last:
                    os.kill(os.getpid(), stop)
                return call(*arguments, **options)
            return stopped
        for name in CALLS:
            setattr(os, name, counted(getattr(os, name)))
        locks.fcntl.flock = counted(locks.fcntl.flock)
        try:
            with atomic.atomic_folder(place / "folder") as folder:
                for name in "ab":
                    (folder / name).write_text(text)
        except KeyboardInterrupt:
            os._exit(1)
        os._exit(0)
    return os.waitpid(process, 0)[1]

def complete(path):
    texts = [(path / name).read_text() for name in "ab"]
    assert texts in (["old"] * 2, ["new"] * 2), texts
    return texts[0]

found = set()
for last in itertools.count():
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    write("old")
    if write("new", last) == 0:
        break
    atomic.finish_replacement(place / "folder")
    found.add(complete(place / "folder"))
    write("new", last)  # stopped again
    atomic.finish_replacement(place / "folder")
    complete(place / "folder")
    assert write("new") == 0
    assert complete(place / "folder") == "new"
    assert os.listdir(place) == ["folder"], os.listdir(place)
print(last, *sorted(found))
"""


@pytest.mark.parametrize("stop", ["SIGKILL", "SIGINT"])
def test_a_stop_at_any_call_of_the_system_leaves_a_complete_folder(tmp_path: Path, stop: str) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "place"), stop]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    calls, *left = done.stdout.split()
    assert int(calls) > 20
    assert left == ["new", "old"]


def test_processes_that_write_one_file_or_folder_do_not_meet(tmp_path: Path) -> None:
    def write(text: str) -> None:
        for _ in range(30):
            write_text_atomically(tmp_path / "file", text)
            with atomic_folder(tmp_path / "folder") as folder:
                (folder / text).touch()

    with ThreadPoolExecutor(3) as threads:
        for done in [threads.submit(write, text) for text in "abc"]:
            done.result()
    assert (tmp_path / "file").read_text() in "abc"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_shared_folder_keeps_the_first_result(tmp_path: Path) -> None:
    with atomic_shared_folder(tmp_path / "part") as slow:
        (slow / "rows").write_text("slow")
        with atomic_shared_folder(tmp_path / "part") as fast:
            (fast / "rows").write_text("fast")
    assert (tmp_path / "part" / "rows").read_text() == "fast"
    assert [path.name for path in tmp_path.iterdir()] == ["part"]


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o077], ids=oct)
def test_permissions_follow_the_umask(umask: int, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    request.addfinalizer(partial(os.umask, os.umask(umask)))
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
    assert {file.stat().st_mode & 0o777 for file in files} == {0o666 & ~umask}
    assert not [path for path in tmp_path.rglob(".*") if path.is_file()]


def test_the_hash_of_a_folder_depends_on_the_folders_of_its_files(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name / name).mkdir(parents=True)
        (tmp_path / name / name / "file").write_text("text")
    assert hash_contents(tmp_path / "one") != hash_contents(tmp_path / "other")
