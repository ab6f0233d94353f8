"""Training texts from a text file with one string per line, such as Mirror-BERT's 10,000 strings (section 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import ClassVar

import pyarrow as pa
from pydantic import Field

from ease.errors import EaseError
from ease.io.text_tables import read_lines
from ease.texts.components.mixture import FileOptions, Source, Workspace

_SCHEMA = pa.schema([("line", pa.int64()), ("sentence", pa.string())])


class Options(FileOptions):
    """A text file in UTF-8, plain, gzip or bzip2."""

    title: ClassVar[str] = "Lines of text"

    comment: str | None = Field(
        None,
        min_length=1,
        description="beginning of lines to skip, such as #!comment:; null: none",
    )
    skip: int = Field(0, ge=0, description="first lines to skip, such as more frequent words")
    take: int | None = Field(None, ge=1, description="lines to read after those; null: all")


def read(options: Options, workspace: Workspace, seed: int) -> Source:
    """Return each distinct string once, in the order of first occurrence; blank and repeated lines are counted."""
    counts = Counter({"read": 0, "blank": 0})
    lines = workspace.store(_strings(options, counts), _SCHEMA)
    distinct = lines.group_by("sentence").agg(key=lines.line.min())
    counts["repeated"] = counts["read"] - counts["blank"] - int(distinct.count().execute())
    return Source(distinct, counts)


def _strings(options: Options, counts: Counter[str]) -> Iterator[tuple[int, str]]:
    """Yield the numbers and strings of the chosen lines that are not blank; comments do not count as lines."""
    lines = (
        (number, line)
        for number, line in read_lines(options.path)
        if options.comment is None or not line.startswith(options.comment)
    )
    end = None if options.take is None else options.skip + options.take
    for number, line in islice(lines, options.skip, end):
        counts["read"] += 1
        if text := line.strip():
            yield number, text
        else:
            counts["blank"] += 1
    if options.skip and not counts["read"]:
        raise EaseError(f"{options.path} has no line after the first {options.skip}: lower `skip`.")
