"""Measure the ingestion of a Wikipedia dump: speed beside other readers, scaling and memory.

    python -m benchmarks.ingestion_speed
    python -m benchmarks.ingestion_speed --megabytes 100 --sizes 10 100 1000

A slice of a real dump is repeated up to the given size, as XML in bz2 streams. In each round, every reader processes
that file on one core in a separate process:

- ease writes sentences with their links;
- wikipedia2vec builds its DumpDB;
- wikiextractor, if it is installed, writes the text of articles;
- bz2 only decompresses.

Speeds are megabytes of XML per second of CPU time, medians over the rounds.
"""

from __future__ import annotations

import bz2
import gzip
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.common import command_line_parser, print_head, print_row
from benchmarks.inputs import dump_slices
from ease.wikimedia.dumps.streams import DecompressedStream

PAGES_PER_STREAM = 100
"""As in real multistream dumps."""
PAGE = re.compile(rb"<page>.*?</page>\n?", re.DOTALL)
PACKINGS = {"bz2, many streams": (".bz2", True), "bz2, one stream": (".bz2", False), "gz": (".gz", True)}
OURS: tuple[str, ...] = (sys.executable, "-m", "benchmarks.read_a_dump")


class Dump(NamedTuple):
    """A dump file, the name of its slice and the megabytes of its XML."""

    path: Path
    name: str
    megabytes: float


class Cost(NamedTuple):
    """Wall-clock and CPU seconds of a process with its children, and its standard output."""

    seconds: float
    cpu_seconds: float
    printed: str


def repeat_dump(source: Path, folder: Path, megabytes: float, packing: str = "bz2, many streams") -> Dump:
    """Repeat the pages of a dump with new titles and page IDs up to a size."""
    ending, streams = PACKINGS[packing]
    content = b"".join(block for _, block in DecompressedStream(source))
    first = content.index(b"<page>")
    pages = _repeated(PAGE.findall(content, first), megabytes * 1e6)
    parts = [content[:first], *pages, b"</mediawiki>\n"]
    target = folder / f"{source.name.partition('wiki')[0]}wiki-20240101-pages-articles.xml{ending}"
    with target.open("wb") as file:
        if ending == ".gz":
            file.write(gzip.compress(b"".join(parts), 6))
        else:
            each = PAGES_PER_STREAM if streams else len(parts)
            groups = (parts[start : start + each] for start in range(0, len(parts), each))
            file.writelines(bz2.compress(b"".join(group)) for group in groups)
    return Dump(target, source.name.partition("-pages")[0], sum(map(len, parts)) / 1e6)


def _repeated(pages: list[bytes], size: float) -> Iterator[bytes]:
    size_so_far = number = 0
    while size_so_far < size:
        page = pages[number % len(pages)]
        turn = number // len(pages)
        number += 1
        page = re.sub(rb"<id>\d+</id>", b"<id>%d</id>" % number, page, count=1)
        if turn:
            page = page.replace(b"</title>", b" %d</title>" % turn, 1)
        size_so_far += len(page)
        yield page


def cost_of(command: Sequence[str | Path], folder: Path) -> Cost:
    """Run a command that writes to a folder, and return its cost; exit with its errors if it fails."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    started = time.perf_counter()
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(list(map(str, command)), stdout=stdout, stderr=stderr)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        stdout.seek(0)
        stderr.seek(0)
        if status:
            sys.exit(f"{' '.join(map(str, command))} failed:\n{stderr.read().decode(errors='replace')}")
        return Cost(seconds, usage.ru_utime + usage.ru_stime, stdout.read().decode())


def print_readers(dump: Dump, rounds: int, folder: Path) -> None:
    """Print the speed of each reader that is installed, and in parentheses that of ease relative to it."""
    tools = Path(sys.executable).parent
    commands: dict[str, list[str | Path]] = {
        "ease": [*OURS, "ease", dump.path, folder / "ease"],
        "wikipedia2vec": [
            *(tools / "wikipedia2vec", "build-dump-db", dump.path, folder / "dump.db", "--pool-size", "1")
        ],
        "wikiextractor": [
            *(tools / "wikiextractor", "--processes", "1", "--json", "--links", "--no-templates", "-q"),
            *("-o", folder / "text", dump.path),
        ],
        "bz2": [*OURS, "bz2", dump.path, folder],
    }
    speeds: dict[str, list[float]] = {name: [] for name, (program, *_) in commands.items() if Path(program).exists()}
    for _ in range(rounds):
        for name, values in speeds.items():
            values.append(dump.megabytes / cost_of(commands[name], folder).cpu_seconds)
    medians = {name: statistics.median(values) for name, values in speeds.items()}
    ours = medians.pop("ease")
    peers = [
        f"{medians[name]:.1f} ({ours / medians[name]:.2f})" if name in medians else "–" for name in [*commands][1:]
    ]
    print_row(dump.name, f"{dump.megabytes:.0f}", f"{ours:.1f}", *peers)


def print_scaling(dump: Dump, packing: str, rounds: int, folder: Path) -> None:
    """Print the wall-clock seconds with one and two workers."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        for workers, times in seconds.items():
            options = ["--workers", str(workers), "--shards", "16"]
            times.append(cost_of([*OURS, "ease", dump.path, folder, *options], folder).seconds)
    single, double = (statistics.median(times) for times in seconds.values())
    print_row(packing, f"{single:.1f}", f"{double:.1f}", f"{single / double / 2:.0%}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the arguments, measure and print Markdown tables."""
    parser = command_line_parser(__doc__)
    parser.add_argument("slices", nargs="*", type=Path, help="dump files; default: those of `inputs`")
    parser.add_argument("--megabytes", type=float, default=30, help="size of the XML that each reader reads")
    parser.add_argument("--scaling-megabytes", type=float, help="of two workers; default: `--megabytes`")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--sizes", type=float, nargs="*", default=[10, 100], help="megabytes, for peak memory")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        out = work / "out"
        slices = options.slices or dump_slices(work)
        print("MB of XML per second and core; in parentheses: the speed of ease relative to this reader.\n")
        print_head("dump", "MB", "ease", "wikipedia2vec", "wikiextractor", "bz2 alone")
        for source in slices:
            print_readers(repeat_dump(source, work, options.megabytes), options.rounds, out)
        print()
        print_head("compression", "one worker, s", "two workers, s", "of ideal")
        for packing in PACKINGS:
            dump = repeat_dump(slices[0], work, options.scaling_megabytes or options.megabytes, packing)
            print_scaling(dump, packing, options.rounds, out)
        print()
        print_head("MB of XML", "peak MB of a worker", "MB/s and core", texts=0)
        for megabytes in options.sizes:
            dump = repeat_dump(slices[0], work, megabytes)
            cost = cost_of([*OURS, "ease", dump.path, out], out)
            speed = dump.megabytes / cost.cpu_seconds
            print_row(f"{dump.megabytes:.0f}", f"{float(cost.printed):.0f}", f"{speed:.1f}")


if __name__ == "__main__":
    main()
