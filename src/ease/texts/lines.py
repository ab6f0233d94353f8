"""Training texts from a text file with one string per line, such as Mirror-BERT's 10,000 strings (section 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from ease.io.text_tables import read_lines
from ease.texts.components.options import FileOptions, Source
from ease.texts.components.workspace import Workspace

_SCHEMA = pa.schema([("line", pa.int64()), ("sentence", pa.string())])


class Options(FileOptions):
    """A text file in UTF-8, plain, gzip or bzip2."""

    title: ClassVar[str] = "Lines of text"


def read(options: Options, workspace: Workspace, seed: int) -> Source:
    """Return each distinct string once, in the order of first occurrence; blank and repeated lines are counted.

    Raises:
        EaseError: If the file is missing or cut, or a line is not UTF-8.
    """
    counts = Counter({"read": 0, "blank": 0})
    lines = workspace.store(_strings(options.path, counts), _SCHEMA)
    distinct = lines.group_by("sentence").agg(key=lines.line.min())
    counts["repeated"] = counts["read"] - counts["blank"] - int(distinct.count().execute())
    return Source(distinct, counts)


def _strings(path: Path, counts: Counter[str]) -> Iterator[tuple[int, str]]:
    for number, line in read_lines(path):
        counts["read"] += 1
        if text := line.strip():
            yield number, text
        else:
            counts["blank"] += 1
