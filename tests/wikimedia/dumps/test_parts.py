"""Parts are written atomically, and once; killed runs and lost tasks leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ease.errors import EaseError
from ease.wikimedia.dumps.files import DumpFile, find_dumps
from ease.wikimedia.dumps.parts import Counts, IngestOptions, make_parts
from ease.wikimedia.wikipedia import ingest_wikipedia
from tests.wikimedia.made_dumps import ONE, article, made


def test_an_unchanged_shard_is_parsed_once(tmp_path: Path) -> None:
    dump, parts = made(tmp_path, article(1)), tmp_path / "parts"
    first = ingest_wikipedia([dump], ONE, parts)
    time = first.sentences[0].stat().st_mtime_ns
    moved = DumpFile(dump.path.rename(tmp_path / "enwiki-moved-pages-articles.xml"), "en", "20240101")
    again = ingest_wikipedia([moved], ONE, parts)
    assert again.sentences == first.sentences
    assert again.sentences[0].stat().st_mtime_ns == time
    for change in ({"splitter": "icu"}, {"max_page_bytes": 10_000}):
        other = ingest_wikipedia([moved], IngestOptions(workers=1, **change), parts)
        assert other.sentences != first.sentences
    assert ingest_wikipedia([made(tmp_path, article(2))], ONE, parts).sentences != first.sentences


KILLED = """
import resource, signal, sys
from pathlib import Path
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikipedia import ingest_wikipedia
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
ingest_wikipedia(find_dumps(sys.argv[1], ["en"]), IngestOptions(workers=1), Path(sys.argv[2]))
"""


def test_the_next_run_continues_after_a_kill_during_a_write(test_data: Path, tmp_path: Path) -> None:
    """The kernel kills the process at the 50,000th byte of a file, always during a write."""
    source = next((test_data / "dumps").rglob("enwiki-shortened-*.bz2"))
    killed = subprocess.run([sys.executable, "-c", KILLED, str(source), str(tmp_path)])
    assert killed.returncode == -signal.SIGXFSZ
    (partial,) = (tmp_path / "templates" / "en").iterdir()
    assert partial.name.startswith(".")
    assert 50_000 in {path.stat().st_size for path in partial.rglob("*")}
    ingested = ingest_wikipedia(find_dumps(source, ["en"]), ONE, tmp_path)
    assert ingested.counts["en"]["articles"] == 106
    assert [path.parent for path in ingested.sentences] == list((tmp_path / "en").iterdir())


def test_a_task_whose_process_is_lost_is_run_again(tmp_path: Path) -> None:
    def write(source: str, folder: Path) -> Counts:
        (folder / "rows").write_text(source)
        if not (tmp_path / source).exists():
            (tmp_path / source).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return {"source": source}

    def in_processes(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        """Run each task in a process, and again where that process is lost, as Spark does."""
        for task in tasks:
            while (process := os.fork()) == 0:
                function(task)
                os._exit(0)
            if os.waitpid(process, 0)[1]:
                yield function(task)

    parts = {tmp_path / "parts" / name: name for name in "ab"}
    counts = make_parts(parts, write, len, in_processes, "Writing")
    assert counts == {part: {"source": name} for part, name in parts.items()}
    assert sorted((tmp_path / "parts").iterdir()) == list(parts)


def test_a_full_disk_is_reported_and_leaves_no_partial_part(test_data: Path, small_disk: Path) -> None:
    english = find_dumps(test_data / "dumps" / "wikipedia" / "enwiki-mini*", ["en"])
    dumps = [*find_dumps(test_data / "dumps", ["tr"]), *english]
    with pytest.raises(EaseError, match=rf"Cannot write to {small_disk}/en\S* \(No space left on device\)"):
        ingest_wikipedia(dumps, ONE, small_disk)
    assert list((small_disk / "en").iterdir()) == []
    assert ingest_wikipedia(dumps[:1], ONE, small_disk).counts["tr"]["articles"] == 1
