"""Find the dump file of Wikidata."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from ease.errors import EaseError
from ease.wikimedia.dumps.files import dump_date, list_files
from ease.wikimedia.dumps.streams import FASTEST_FIRST, compression_of

WikidataForm = Literal["json", "truthy"]

_NAMES: dict[WikidataForm, tuple[re.Pattern[str], str]] = {
    "json": (
        re.compile(r"(?!.*lexemes)(.*wikidata.*|.*-all)\.json(\.bz2|\.gz)?"),
        "*wikidata*.json or *-all.json (.bz2, .gz)",
    ),
    "truthy": (re.compile(r".*truthy.*\.nt(\.bz2|\.gz)?"), "*truthy*.nt (.bz2, .gz)"),
}
"""Names of the files, and the same in words."""


def find_wikidata(source: str | Path, form: WikidataForm = "json") -> Path:
    """Find the newest Wikidata dump, in the compression that is fastest to read.

    Args:
        source: Folder (searched recursively), glob or file.
        form: All of Wikidata as JSON, or its truthy statements.

    Raises:
        EaseError: There is no dump, or the newest of several is unclear, for example if one has no date.
    """
    name, in_words = _NAMES[form]
    files = list_files(source, name.fullmatch, in_words)
    dates = {file: dump_date(file) for file in files}
    newest = max((date for date in dates.values() if date), default=None)
    # A file without a date may be newer than the newest date.
    files = [file for file, date in dates.items() if date in (None, newest)]
    if len({re.sub(r"\.(bz2|gz)$", "", str(file)) for file in files}) > 1:
        names = ", ".join(str(file) for file in files)
        raise EaseError(f"{source} has several Wikidata dumps ({names}): set the source to one of them.")
    return min(files, key=lambda file: FASTEST_FIRST.index(compression_of(file)))
