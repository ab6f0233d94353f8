"""Locks on work folders, held and lost by real processes."""

from __future__ import annotations

import errno
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import pytest

from ease.errors import EaseError
from ease.io import locks
from ease.io.locks import (
    LOCK_FILE,
    check_unlocked,
    folder_lock,
    lock_data_for_run,
    remove_abandoned_scratch,
    scratch_folder,
    try_lock,
)

HOLD = """
import sys
from pathlib import Path
from ease.io import locks
with getattr(locks, sys.argv[1])(*map(Path, sys.argv[2:3]), *sys.argv[3:]) as held:
    print(getattr(held, "folder", held), flush=True)
    sys.stdin.readline()
"""


@contextmanager
def holding(kind: str, *arguments: str | Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Start a process that locks a folder; it lives until the block ends, or is killed before."""
    command = [sys.executable, "-c", HOLD, kind, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_a_locked_folder_is_refused_until_its_process_ends(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "work"
    with holding("folder_lock", folder) as (process, _):
        refusal = rf"{folder} \(process {process.pid} .*wait for it or stop it"
        with pytest.raises(EaseError, match=refusal), folder_lock(folder):
            pass
        process.kill()
        process.wait()
        with folder_lock(folder), pytest.raises(EaseError, match="Another run"), folder_lock(folder):
            pass


def test_a_folder_in_the_place_of_a_lock_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "work" / LOCK_FILE).mkdir(parents=True)
    (tmp_path / ".in_use").mkdir()
    message = "is a folder where a lock file belongs: move or remove it"
    with pytest.raises(EaseError, match=f"work/lock {message}"):
        check_unlocked(tmp_path / "work")
    with pytest.raises(EaseError, match=rf"\.in_use {message}"):
        lock_data_for_run(tmp_path)


def test_a_lock_is_of_the_file_that_its_folder_still_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another run may remove the folder, and a third one make it again, before the opened file is locked."""
    file = tmp_path / LOCK_FILE
    late = iter([True])

    def try_late(lock: IO[bytes] | int, **options: bool) -> bool:
        if next(late, False):
            file.unlink()
            file.touch()
        return try_lock(lock, **options)

    monkeypatch.setattr("ease.io.locks.try_lock", try_late)
    with folder_lock(tmp_path) as held:
        assert os.path.samestat(os.fstat(held.descriptor), file.stat())


def test_scratch_folders_of_killed_processes_are_removed_and_no_others(tmp_path: Path) -> None:
    kept = tmp_path / "multilingual.ease"
    kept.mkdir()
    given = "scratch_folder", tmp_path, "texts"
    with holding(*given) as (killed, left), holding(*given) as (_, used):
        for folder in (left, used):
            (folder / "wikipedia2vec.abc").mkdir()
            (folder / "wikipedia2vec.abc" / "dump.db").touch()
        killed.kill()
        killed.wait()
        assert left.exists()
        remove_abandoned_scratch(tmp_path)
        with scratch_folder(tmp_path, "texts") as own:
            assert sorted(tmp_path.iterdir()) == sorted([kept, own, used])
            assert (used / "wikipedia2vec.abc" / "dump.db").exists()
        assert not own.exists()


def test_scratch_folders_of_other_machines_are_removed_after_a_day_unless_they_are_locked(tmp_path: Path) -> None:
    """Each container is a machine of its own, and no later one has its name."""
    machines = (platform.node(), f"{platform.node()}-gpu", "elsewhere", "4f2a9c", "5b1d")
    own, alike, fresh, old, held = (tmp_path / f".texts.scratch-{machine}-0123456789ab" for machine in machines)
    for folder in (own, alike, fresh, old, held):
        (folder / "inner").mkdir(parents=True)
    with folder_lock(held):
        for path in (*alike.rglob("*"), alike, *fresh.rglob("*"), fresh, *old.rglob("*"), old, *held.rglob("*"), held):
            os.utime(path, times=(0, 0))
        (fresh / "inner" / "file").touch()
        remove_abandoned_scratch(tmp_path)
        assert sorted(tmp_path.iterdir()) == sorted([fresh, held])
    for path in (*held.rglob("*"), held):
        os.utime(path, times=(0, 0))
    with scratch_folder(tmp_path, "texts"):
        remove_abandoned_scratch(tmp_path)
        assert not held.exists()


def test_a_run_goes_on_where_nothing_can_be_locked_and_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", refuse)
    with locks.lock_data_for_run(tmp_path), locks.writing(tmp_path), folder_lock(tmp_path / "work"):
        with scratch_folder(tmp_path, "own") as own:
            remove_abandoned_scratch(tmp_path)
            assert own.is_dir(), "another run may use it"
        assert locks.is_locked(tmp_path / "work"), "another run may hold it"
    with locks.lock_data_for_removal(tmp_path):
        pass
    (record,) = caplog.records
    assert record.getMessage().startswith("The file system has no locks (No locks available): ")


SHARE = """
import subprocess, sys
from pathlib import Path
from ease.io.locks import folder_lock
with folder_lock(Path(sys.argv[1])) as lock:
    heir = subprocess.Popen(["sleep", "600"], pass_fds=[lock.descriptor])
    print(heir.pid, flush=True)
    sys.stdin.readline()
"""


def test_a_process_that_inherits_a_lock_keeps_it(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SHARE, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        heir = int(process.stdout.readline())
        process.kill()
    with pytest.raises(EaseError, match="Another run is at work"), folder_lock(tmp_path):
        pass
    os.kill(heir, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while True:
        with suppress(EaseError), folder_lock(tmp_path):
            break
        assert time.monotonic() < deadline
        time.sleep(0.05)
