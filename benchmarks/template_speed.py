"""Compare the ingestion of a dump with and without the templates that write words.

    python -m benchmarks.template_speed
    python -m benchmarks.template_speed --megabytes 100 my/enwiki-latest-pages-articles.xml.bz2

A slice of a real dump is repeated up to the given size. Each round ingests it both ways in this process: from the
compressed file to the Parquet parts of sentences with their links. Rates are megabytes of XML per second of CPU time;
those of the fastest rounds count.
"""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path
from unittest.mock import patch

from benchmarks.command_line import command_line_parser
from benchmarks.inputs import dump_slices
from benchmarks.repeated_dumps import repeat_dump
from ease.wikimedia import wikipedia
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikipedia import ingest_wikipedia
from ease.wikimedia.wikitext.parser import read_prose


def seconds_to_ingest(dump: Path, show: bool, folder: Path) -> float:
    """Return the CPU seconds of ingesting a dump into a folder, with or without the templates that write words."""
    language = dump.name.partition("wiki")[0]
    with patch.object(wikipedia, "read_prose", partial(read_prose, show=show)):
        start = time.process_time()
        ingest_wikipedia(find_dumps(dump, [language]), IngestOptions(workers=1), folder)
        return time.process_time() - start


def compare(source: Path, megabytes: float, rounds: int, work: Path) -> str:
    """Return the table row of one slice."""
    dump = work / f"{source.name.partition('wiki')[0]}wiki-20240101-pages-articles.xml.bz2"
    size = repeat_dump(source, dump, megabytes) / 1e6
    found: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        for show, seconds in found.items():
            with tempfile.TemporaryDirectory(dir=work) as folder:
                seconds.append(seconds_to_ingest(dump, show, Path(folder)))
    shown, removed = (size / min(seconds) for seconds in found.values())
    name = source.name.partition("-pages")[0]
    return f"| {name} | {size:.0f} | {shown:.2f} | {removed:.2f} | {100 * shown / removed:.0f} % |"


def main() -> None:
    """Print a row for each slice."""
    parser = command_line_parser(__doc__)
    parser.add_argument("slices", nargs="*", type=Path, help="dump files; default: those of `inputs`")
    parser.add_argument("--megabytes", type=float, default=15, help="size of the XML")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print("| dump | MB | templates shown, MB/s | removed, MB/s | of the speed without |")
    print("|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as work:
        for source in given.slices or dump_slices(Path(work)):
            print(compare(source, given.megabytes, given.rounds, Path(work)), flush=True)


if __name__ == "__main__":
    main()
