"""Make dumps of any size by repeating the pages of a dump with new titles and page IDs."""

from __future__ import annotations

import bz2
import gzip
import re
from collections.abc import Iterator
from pathlib import Path

from ease.wikimedia.dumps.streams import DecompressedStream

PAGES_PER_STREAM = 100
"""As in real multistream dumps."""

PAGE = re.compile(rb"<page>.*?</page>\n?", re.DOTALL)
_ID = re.compile(rb"<id>\d+</id>")
_TITLE = re.compile(rb"</title>")


def repeat_dump(source: Path, target: Path, megabytes: float, streams: bool = True) -> int:
    """Repeat the pages of a dump until the XML has the given size.

    Args:
        source: Dump, compressed or not, that fits in memory.
        target: Output file; its suffix, .bz2 or .gz, gives the compression.
        megabytes: Minimum size of the uncompressed XML.
        streams: Whether a .bz2 file has many streams, as multistream dumps have, or one.

    Returns:
        Size of the XML in bytes.
    """
    whole = b"".join(block for _, block in DecompressedStream(source))
    first = whole.index(b"<page>")
    parts = [whole[:first], *_repeated(PAGE.findall(whole, first), megabytes * 1e6), b"</mediawiki>\n"]
    with target.open("wb") as file:
        if target.suffix == ".gz":
            file.write(gzip.compress(b"".join(parts), 6))
        elif streams:
            groups = (
                parts[start : start + PAGES_PER_STREAM] for start in range(0, len(parts), PAGES_PER_STREAM)
            )
            file.writelines(bz2.compress(b"".join(group)) for group in groups)
        else:
            file.write(bz2.compress(b"".join(parts)))
    return sum(map(len, parts))


def _repeated(pages: list[bytes], size: float) -> Iterator[bytes]:
    written, turn, number = 0, 0, 0
    while written < size:
        for page in pages:
            number += 1
            renumbered = _ID.sub(b"<id>%d</id>" % number, page, count=1)
            renamed = _TITLE.sub(b" %d</title>" % turn, renumbered, count=1) if turn else renumbered
            written += len(renamed)
            yield renamed
            if written >= size:
                return
        turn += 1
