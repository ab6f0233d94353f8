"""Parts are written atomically, and once."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ease.errors import EaseError
from ease.wikimedia.dumps import parts, table_writer
from ease.wikimedia.dumps.files import DumpFile, find_dumps
from ease.wikimedia.dumps.options import IngestOptions
from ease.wikimedia.wikipedia.ingestion import ingest_wikipedia
from tests.wikimedia.made_dumps import (
    ONE,
    article,
    made,
)


def test_small_tables_are_buffered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = pa.schema([("number", pa.int64()), ("text", pa.string())])
    monkeypatch.setattr(table_writer, "ROWS_PER_GROUP", 100)
    monkeypatch.setattr(table_writer, "_BYTES_PER_GROUP", 10_000)
    written = [{"number": number, "text": "x"} for number in range(250)]
    with table_writer.TableWriter(tmp_path / "t.parquet", schema) as writer:
        for row in written:
            writer.write(pa.RecordBatch.from_pylist([row], schema))
        writer.write(pa.Table.from_pylist([{"number": 250, "text": "y" * 20_000}], schema))
        writer.write(schema.empty_table())
        writer.write(pa.RecordBatch.from_pylist([{"number": 251, "text": "z"}], schema))
    file = pq.ParquetFile(tmp_path / "t.parquet")
    assert [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)] == [
        100,
        100,
        51,
        1,
    ]
    assert file.read()["number"].to_pylist() == list(range(252))


def test_an_unchanged_shard_is_parsed_once(tmp_path: Path) -> None:
    dump = made(tmp_path, article(1))
    first = ingest_wikipedia([dump], ONE, tmp_path / "parts")
    written = first.sentences[0].stat().st_mtime_ns
    moved = DumpFile(dump.path.rename(tmp_path / "enwiki-moved-pages-articles.xml"), "en", "20240101")
    again = ingest_wikipedia([moved], ONE, tmp_path / "parts")
    assert again.sentences == first.sentences
    assert again.sentences[0].stat().st_mtime_ns == written
    for change in ({"splitter": "icu"}, {"max_page_bytes": 10_000}):
        other = ingest_wikipedia([moved], IngestOptions(workers=1, **change), tmp_path / "parts")
        assert other.sentences != first.sentences
    assert (
        ingest_wikipedia([made(tmp_path, article(2))], ONE, tmp_path / "parts").sentences != first.sentences
    )


@pytest.mark.parametrize(
    ("limits", "groups"),
    [({}, [7]), ({"ROWS_PER_GROUP": 3}, [3, 3, 1]), ({"CHARACTERS_PER_GROUP": 20}, [2, 2, 2, 1])],
)
def test_rows_are_written_in_groups_of_bounded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: dict[str, int], groups: list[int]
) -> None:
    for name, limit in limits.items():
        monkeypatch.setattr(table_writer, name, limit)
    written = [(number, "x" * 10) for number in range(7)]
    with table_writer.TableWriter(
        tmp_path / "table.parquet", pa.schema({"id": pa.int64(), "text": pa.string()})
    ) as writer:
        for row in written:
            writer.append(row, characters=len(row[1]))
    stored = pq.ParquetFile(tmp_path / "table.parquet")
    assert [stored.metadata.row_group(group).num_rows for group in range(stored.num_row_groups)] == groups
    assert [tuple(row.values()) for row in stored.read().to_pylist()] == written


KILLED = """
import resource, signal, sys
from pathlib import Path
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.dumps.options import IngestOptions
from ease.wikimedia.wikipedia.ingestion import ingest_wikipedia
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
ingest_wikipedia(find_dumps(sys.argv[1], ["en"]), IngestOptions(workers=1), Path(sys.argv[2]))
"""


def test_the_next_run_continues_after_a_kill_during_a_write(test_data: Path, tmp_path: Path) -> None:
    """The kernel kills the process at the 50,000th byte of a file, always during a write."""
    source = next((test_data / "dumps").rglob("enwiki-shortened-*.bz2"))
    killed = subprocess.run([sys.executable, "-c", KILLED, str(source), str(tmp_path)])
    assert killed.returncode == -signal.SIGXFSZ
    (partial,) = (tmp_path / "en").iterdir()
    assert partial.name.startswith(".")
    assert 50_000 in {path.stat().st_size for path in partial.rglob("*")}
    ingested = ingest_wikipedia(find_dumps(source, ["en"]), ONE, tmp_path)
    assert ingested.counts["en"]["articles"] == 106
    assert [path.parent for path in ingested.sentences] == list((tmp_path / "en").iterdir())


def test_parts_that_another_run_is_writing_are_left_alone(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from ease.wikimedia.dumps.parts import part_folder\n"
        "with part_folder(Path(sys.argv[1])): print('locked', flush=True); sys.stdin.read()"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "parts/en/key")]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        ingest_wikipedia([made(tmp_path, article(1))], ONE, tmp_path / "parts")
        assert len(list((tmp_path / "parts/en").glob(".key.*"))) == 1
        other.communicate(b"")
    assert (tmp_path / "parts/en/key").is_dir()


def test_of_two_writers_of_a_part_the_first_wins(tmp_path: Path) -> None:
    final = tmp_path / "parts" / "key"
    with parts.part_folder(final) as later:
        (later / "rows").write_text("equal")
        with parts.part_folder(final) as first:
            (first / "rows").write_text("equal")
        written = final.stat()
    assert final.stat() == written
    assert list(final.parent.iterdir()) == [final]


@pytest.mark.slow
def test_leftovers_are_removed_while_others_write(tmp_path: Path) -> None:
    def write() -> None:
        for number in range(400):
            with parts.part_folder(tmp_path / f"{number}") as folder:
                (folder / "rows").write_text("whole")

    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(write)
        while not writing.done():
            parts.remove_leftovers(tmp_path)
        writing.result()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(map(str, range(400)))


def test_partial_parts_of_other_machines_are_kept_for_a_week(tmp_path: Path) -> None:
    folders = {days: tmp_path / f".key.scratch-another-machine-{days}" for days in (0, 6, 8)}
    for days, folder in folders.items():
        folder.mkdir()
        os.utime(folder, (time.time() - days * 24 * 3600,) * 2)
    parts.remove_leftovers(tmp_path)
    assert [days for days, folder in folders.items() if folder.exists()] == [0, 6]


def test_a_full_disk_is_reported_and_leaves_no_partial_part(test_data: Path, small_disk: Path) -> None:
    dumps = [
        *find_dumps(test_data / "dumps", ["tr"]),
        *find_dumps(test_data / "dumps" / "wikipedia" / "enwiki-mini*", ["en"]),
    ]
    with pytest.raises(
        EaseError, match=rf"Cannot write to {small_disk}/en\S* \(No space left on device\): make room"
    ):
        ingest_wikipedia(dumps, ONE, small_disk)
    assert list((small_disk / "en").iterdir()) == []
    assert ingest_wikipedia(dumps[:1], ONE, small_disk).counts["tr"]["articles"] == 1


def test_a_limit_on_file_sizes_is_reported_like_a_full_disk(test_data: Path, tmp_path: Path) -> None:
    dumps = find_dumps(f"{test_data}/dumps/wikipedia/enwiki-mini*", ["en"])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(
            EaseError, match=rf"Cannot write to {tmp_path}/en\S* \({os.strerror(errno.EFBIG)}\): make room"
        ):
            ingest_wikipedia(dumps, ONE, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ingest_wikipedia(dumps, ONE, tmp_path).counts["en"]["articles"] == 24


def test_an_unwritable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    dump = made(tmp_path, article(1))
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/parts")):
        with pytest.raises(EaseError, match=rf"Cannot write to {folder}/en \(.*\): .* choose a folder"):
            ingest_wikipedia([dump], ONE, folder)


def test_parts_have_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").mkdir()
    with parts.part_folder(tmp_path / "part") as folder:
        (folder / "rows").write_text("1")
    assert (tmp_path / "part").stat().st_mode == (tmp_path / "usual").stat().st_mode
