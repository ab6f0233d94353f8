"""Measure the ingestion of a Wikipedia dump: speed compared with other readers, scaling and memory.

    python -m benchmarks.ingestion_speed
    python -m benchmarks.ingestion_speed --megabytes 100 --sizes 10 100 1000

A slice of a real dump is repeated up to the given size, as XML in bz2 streams. In each round, every reader processes
that file on one core in a separate process:

- ease writes sentences with their links;
- wikipedia2vec builds its DumpDB;
- wikiextractor, if it is installed, writes the text of articles;
- bz2 only decompresses.

Rates are megabytes of XML per second of CPU time, medians over the rounds.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.command_line import command_line_parser
from benchmarks.inputs import dump_slices
from benchmarks.repeated_dumps import PAGE, repeat_dump
from ease.wikimedia.dumps.streams import DecompressedStream


class Cost(NamedTuple):
    """Wall-clock and CPU seconds of a process with its children, and its standard output."""

    seconds: float
    cpu_seconds: float
    printed: str


def cost_of(command: Sequence[str | Path]) -> Cost:
    """Run a command and return its cost; exit with its standard error if the command fails."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(list(map(str, command)), stdout=stdout, stderr=stderr)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        texts = []
        for file in (stdout, stderr):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    if status:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{texts[1]}")
    return Cost(seconds, usage.ru_utime + usage.ru_stime, texts[0])


def commands(dump: Path, folder: Path) -> dict[str, list[str | Path]]:
    """Return the single-core command of each reader that is installed."""
    tools = Path(sys.executable).parent
    own: list[str | Path] = [sys.executable, "-m", "benchmarks.read_a_dump"]
    found: dict[str, list[str | Path]] = {
        "ease": [*own, "ease", dump, folder / "ease"],
        "wikipedia2vec": [
            *(tools / "wikipedia2vec", "build-dump-db", dump, folder / "dump.db", "--pool-size", "1")
        ],
        "wikiextractor": [
            *(tools / "wikiextractor", "--processes", "1", "--json", "--links", "--no-templates", "-q"),
            *("-o", folder / "text", dump),
        ],
        "bz2": [*own, "bz2", dump, folder / "none"],
    }
    return {name: command for name, command in found.items() if Path(command[0]).exists()}


def compare_readers(source: Path, megabytes: float, rounds: int, work: Path) -> str:
    """Return the table row of one slice."""
    dump = work / f"{source.name.partition('wiki')[0]}wiki-20240101-pages-articles.xml.bz2"
    size = repeat_dump(source, dump, megabytes) / 1e6
    rates: dict[str, list[float]] = {}
    for _ in range(rounds):
        folder = work / "out"
        folder.mkdir()
        for name, command in commands(dump, folder).items():
            rates.setdefault(name, []).append(size / cost_of(command).cpu_seconds)
        shutil.rmtree(folder)
    medians = {name: statistics.median(found) for name, found in rates.items()}
    cells = [
        f"{medians[name]:.1f} ({medians['ease'] / medians[name]:.2f})" if name in medians else "–"
        for name in ("wikipedia2vec", "wikiextractor", "bz2")
    ]
    return (
        f"| {source.name.partition('-pages')[0]} | {size:.0f} | {medians['ease']:.1f} | {' | '.join(cells)} |"
    )


PACKINGS = {"bz2, many streams": (".bz2", True), "bz2, one stream": (".bz2", False), "gz": (".gz", True)}


def measure_scaling(source: Path, megabytes: float, rounds: int, work: Path) -> list[str]:
    """Return table rows: wall-clock seconds with one and two workers for each compression format."""
    return [
        _scaling_of(name, source, megabytes, rounds, work / f"packed{number}")
        for number, name in enumerate(PACKINGS)
    ]


def _scaling_of(name: str, source: Path, megabytes: float, rounds: int, work: Path) -> str:
    ending, streams = PACKINGS[name]
    work.mkdir()
    dump = work / f"{source.name.partition('wiki')[0]}wiki-20240102-pages-articles.xml{ending}"
    repeat_dump(source, dump, megabytes, streams)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        for workers, found in seconds.items():
            folder = work / "out"
            command: list[str | Path] = [sys.executable, "-m", "benchmarks.read_a_dump", "ease", dump, folder]
            found.append(cost_of([*command, "--workers", str(workers), "--shards", "16"]).seconds)
            shutil.rmtree(folder)
    shutil.rmtree(work)
    one, two = (statistics.median(found) for found in seconds.values())
    return f"| {name} | {one:.1f} | {two:.1f} | {one / two / 2:.0%} |"


def measure_memory(source: Path, sizes: Sequence[float], work: Path) -> list[str]:
    """Return table rows: peak memory and speed by input size, including the start-up of the process."""
    rows = []
    for megabytes in sizes:
        dump = work / f"{source.name.partition('wiki')[0]}wiki-20240103-pages-articles.xml.bz2"
        size = repeat_dump(source, dump, megabytes) / 1e6
        cost = cost_of([sys.executable, "-m", "benchmarks.read_a_dump", "ease", dump, work / "out"])
        rows.append(f"| {size:.0f} | {float(cost.printed):.0f} | {size / cost.cpu_seconds:.1f} |")
        shutil.rmtree(work / "out")
    return rows


def measure_other_namespaces(source: Path, megabytes: float, rounds: int, work: Path) -> str:
    """Return the table row: speed of articles alone, and of the same articles among as many bytes of talk pages."""
    content = b"".join(block for _, block in DecompressedStream(source))
    articles = [page for page in PAGE.findall(content) if b"<ns>0</ns>" in page]
    talk = [page.replace(b"<title>", b"<title>Talk:", 1).replace(b"<ns>0", b"<ns>1", 1) for page in articles]
    slices = [articles, [page for both in zip(articles, talk, strict=True) for page in both]]
    dump = work / f"{source.name.partition('wiki')[0]}wiki-20240104-pages-articles.xml.bz2"
    rates: list[float] = []
    for times, pages in enumerate(slices, 1):
        part = work / "slice.xml"
        part.write_bytes(content[: content.index(b"<page>")] + b"\n".join(pages) + b"</mediawiki>")
        size, found = repeat_dump(part, dump, times * megabytes) / 1e6, []
        for _ in range(rounds):
            command: list[str | Path] = [
                sys.executable,
                "-m",
                "benchmarks.read_a_dump",
                "ease",
                dump,
                work / "out",
            ]
            found.append(size / cost_of(command).cpu_seconds)
            shutil.rmtree(work / "out")
        rates.append(statistics.median(found))
    alone, among = rates
    return f"| {source.name.partition('-pages')[0]} | {alone:.1f} | {among:.1f} | {among / alone:.2f} |"


def main() -> None:
    """Parse the arguments, measure and print Markdown tables."""
    parser = command_line_parser(__doc__)
    parser.add_argument("slices", nargs="*", type=Path, help="dump files; default: those of `inputs`")
    parser.add_argument(
        "--megabytes", type=float, default=30, help="size of the XML that each reader processes"
    )
    parser.add_argument(
        "--scaling-megabytes", type=float, help="the same for one and two workers; default: `--megabytes`"
    )
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument(
        "--sizes", type=float, nargs="*", default=[10, 100], help="input sizes for peak memory, in megabytes"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        slices = given.slices or dump_slices(Path(work))
        print("MB of XML per second and core; in parentheses: the speed of ease relative to this reader.\n")
        print("| dump | MB | ease | wikipedia2vec | wikiextractor | bz2 alone |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        for source in slices:
            print(compare_readers(source, given.megabytes, given.rounds, Path(work)), flush=True)
        print("\n| compression | one worker, s | two workers, s | of ideal |\n| --- | ---: | ---: | ---: |")
        scaling = given.scaling_megabytes or given.megabytes
        print("\n".join(measure_scaling(slices[0], scaling, given.rounds, Path(work))), flush=True)
        print("\n| dump | articles, MB/s | half talk pages, MB/s | ratio |\n| --- | ---: | ---: | ---: |")
        for source in slices:
            print(measure_other_namespaces(source, given.megabytes, given.rounds, Path(work)), flush=True)
        print("\n| MB of XML | peak MB of a worker | MB/s and core |\n| ---: | ---: | ---: |")
        print("\n".join(measure_memory(slices[0], given.sizes, Path(work))))


if __name__ == "__main__":
    main()
