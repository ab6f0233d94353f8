"""Compare the speed of the wikitext parser with mwparserfromhell on the same articles, on one core.

Prints a Markdown table with one row per dump file: megabytes (UTF-8) of wikitext per second of CPU time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import mwparserfromhell

from benchmarks.command_line import command_line_parser, real_wikipedia_dumps
from benchmarks.links_against_wikipedia2vec import articles_of, dump_of
from ease.wikimedia.dumps.files import read_siteinfo
from ease.wikimedia.wikitext.parser import parse_wikitext


def megabytes_per_second(read: Callable[[str], object], sources: Sequence[str], repeats: int) -> float:
    """Return the highest speed of a parser on some pages over several rounds."""
    size = sum(len(source.encode()) for source in sources) / 1e6
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        for source in sources:
            read(source)
        seconds.append(time.process_time() - start)
    return size / min(seconds)


def time_dump(path: Path, repeats: int) -> str:
    """Return the table row of a dump file."""
    dump = dump_of(path)
    site = read_siteinfo(dump.path, dump.language)
    sources = [page.text for page in articles_of(dump)]
    size = sum(len(source.encode()) for source in sources) / 1e6
    ours = megabytes_per_second(lambda source: parse_wikitext(source, site), sources, repeats)
    theirs = megabytes_per_second(
        lambda source: mwparserfromhell.parse(source).strip_code(), sources, min(repeats, 2)
    )
    name = path.name.partition("-pages")[0]
    return f"| {name} | {len(sources):,} | {size:.2f} | {ours:.1f} | {theirs:.2f} | {ours / theirs:.1f} |"


def main() -> None:
    """Parse the arguments, measure each dump and print the table."""
    parser = command_line_parser(__doc__)
    parser.add_argument(
        "dumps", nargs="*", type=Path, help="dump files; default: $EASE_TEST_DATA/dumps/wikipedia"
    )
    parser.add_argument("--repeats", type=int, default=3, help="rounds; the fastest counts")
    arguments = parser.parse_args()
    sys.stdout.write("| dump | articles | MB | ease, MB/s | mwparserfromhell, MB/s | ratio |\n")
    sys.stdout.write("|---|---:|---:|---:|---:|---:|\n")
    for path in arguments.dumps or real_wikipedia_dumps(parser):
        sys.stdout.write(time_dump(path, arguments.repeats) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
