"""Time our reading of wikitext and mwparserfromhell's on the same articles in one run, on one core.

Writes a Markdown table: a row a dump file, with megabytes (UTF-8) of wikitext per second of processor time.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import mwparserfromhell

from benchmarks.links_against_wikipedia2vec import articles_of, dump_of
from ease.wikimedia.dumps.files import read_siteinfo
from ease.wikimedia.wikitext.parser import parse_wikitext


def megabytes_per_second(read: Callable[[str], object], sources: Sequence[str], repeats: int) -> float:
    """Speed of a reader over some pages, the best of several rounds."""
    size = sum(len(source.encode()) for source in sources) / 1e6
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        for source in sources:
            read(source)
        seconds.append(time.process_time() - start)
    return size / min(seconds)


def time_dump(path: Path, repeats: int) -> str:
    """A row of the table for one dump file."""
    dump = dump_of(path)
    site = read_siteinfo(dump)
    sources = [page.text for page in articles_of(dump)]
    size = sum(len(source.encode()) for source in sources) / 1e6
    ours = megabytes_per_second(lambda source: parse_wikitext(source, site), sources, repeats)
    theirs = megabytes_per_second(
        lambda source: mwparserfromhell.parse(source).strip_code(), sources, min(repeats, 2)
    )
    name = path.name.partition("-pages")[0]
    return f"| {name} | {len(sources):,} | {size:.2f} | {ours:.1f} | {theirs:.2f} | {ours / theirs:.1f} |"


def main() -> None:
    """Time the dumps named on the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dumps", nargs="*", type=Path, help="by default $EASE_TEST_DATA/dumps/wikipedia")
    parser.add_argument("--repeats", type=int, default=3, help="rounds, of which the fastest counts")
    arguments = parser.parse_args()
    paths = arguments.dumps
    if not paths:
        if "EASE_TEST_DATA" not in os.environ:
            parser.error("name dump files, or set EASE_TEST_DATA")
        paths = sorted((Path(os.environ["EASE_TEST_DATA"]) / "dumps" / "wikipedia").glob("*-pages-articles*"))
    sys.stdout.write("| dump | articles | MB | ours, MB/s | mwparserfromhell, MB/s | ratio |\n")
    sys.stdout.write("|---|---:|---:|---:|---:|---:|\n")
    for path in paths:
        sys.stdout.write(time_dump(path, arguments.repeats) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
