"""Runs that lose a process or run beside another leave the same parts as an undisturbed run."""

from __future__ import annotations

import bz2
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from ease.wikimedia.dumps.files import DumpFile
from ease.wikimedia.dumps.parts import IngestOptions, spark_map
from ease.wikimedia.wikipedia import ingest_wikipedia
from tests.wikimedia.made_dumps import as_dump, as_streams, cut

PATIENCE = 120
"""Seconds to wait on a busy machine until a part is started."""
OPTIONS = IngestOptions(workers=2, bytes_per_shard=300_000)

RUN = """
import sys
from pathlib import Path
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikipedia import ingest_wikipedia
dumps, options = find_dumps(sys.argv[1], ["en"]), IngestOptions.model_validate_json(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
ingest_wikipedia(dumps, options, Path(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def dump(test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> DumpFile:
    """Write real pages in streams that end anywhere; a shard takes some tenths of a second."""
    (source,) = (test_data / "dumps").rglob("enwiki-shortened-*.bz2")
    streams = as_streams(cut(bz2.decompress(source.read_bytes()), 1_000_000))
    return as_dump(tmp_path_factory.mktemp("dump") / "enwiki-1-pages-articles.xml.bz2", streams)


@pytest.fixture(scope="module")
def undisturbed(dump: DumpFile, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the files of an undisturbed run."""
    folder = tmp_path_factory.mktemp("undisturbed")
    assert ingest_wikipedia([dump], OPTIONS, folder).counts["en"]["articles"] == 106
    found = contents(folder)
    assert len({Path(name).parent for name in found}) > 3
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files in a folder of parts, including partial parts."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextmanager
def ready(dump: DumpFile, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process in its own group that waits for a line of input and parses the dump with two workers."""
    command = [sys.executable, "-c", RUN, str(dump.path), str(folder), OPTIONS.model_dump_json()]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def go(*processes: subprocess.Popen[bytes]) -> None:
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.flush()


def stop_in_the_middle(parent: psutil.Process, folder: Path) -> tuple[psutil.Process, Path]:
    """Stop the first child process that writes a part in a folder; return it with its partial folder."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for process in parent.children(recursive=True):
            with suppress(psutil.Error):
                for partial in _partial(process, folder):
                    process.suspend()
                    if partial.exists():
                        return process, partial
                    process.resume()
        time.sleep(0.005)
    pytest.fail(f"nothing was written to {folder}")


def _partial(process: psutil.Process, folder: Path) -> set[Path]:
    """Return the partial folders in which a process has open files."""
    parents = {Path(file.path).parent for file in process.open_files()}
    return {path for path in parents if path.is_relative_to(folder) and path.name.startswith(".")}


@pytest.mark.slow
def test_a_killed_run_does_not_disturb_another(
    dump: DumpFile, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    with ready(dump, tmp_path) as doomed, ready(dump, tmp_path) as other:
        go(doomed)
        _, partial = stop_in_the_middle(psutil.Process(doomed.pid), tmp_path)
        go(other)
        stopped, _ = stop_in_the_middle(psutil.Process(other.pid), tmp_path)
        assert partial.exists(), "the other run keeps folders that are still being written"
        os.killpg(doomed.pid, signal.SIGKILL)
        assert doomed.wait(PATIENCE) == -signal.SIGKILL
        stopped.resume()
        assert other.wait(PATIENCE) == 0
    assert not partial.exists()
    assert contents(tmp_path) == undisturbed


@pytest.mark.spark
def test_a_task_lost_by_spark_is_run_again(
    dump: DumpFile, undisturbed: dict[str, bytes], tmp_path: Path, spark: Any
) -> None:
    def kill_a_worker() -> Path:
        process, partial = stop_in_the_middle(psutil.Process(), tmp_path)
        process.kill()
        return partial

    with ThreadPoolExecutor(1) as thread:
        killed = thread.submit(kill_a_worker)
        ingest_wikipedia([dump], OPTIONS, tmp_path, spark_map(spark.sparkContext))
    assert not killed.result().exists()
    assert contents(tmp_path) == undisturbed
