"""Any text file, a string a line: the 10,000 strings of Mirror-BERT (section 3), or sentences for SimCSE."""

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
    """A text file in UTF-8, also .gz or .bz2."""

    title: ClassVar[str] = "Lines of text"


def read(options: Options, workspace: Workspace, seed: int) -> Source:
    """Take each distinct string once, where it first stands; blank lines and repeated strings are counted.

    Raises:
        EaseError: Naming the file, if it is missing, empty or cut, and the line, if it is not UTF-8.
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
