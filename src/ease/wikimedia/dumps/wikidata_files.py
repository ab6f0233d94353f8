"""Finding the dump file of Wikidata."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from ease.errors import EaseError
from ease.wikimedia.dumps.files import dump_date, list_files
from ease.wikimedia.dumps.streams import compression_of

WikidataForm = Literal["json", "truthy"]

_NAMES: dict[WikidataForm, re.Pattern[str]] = {
    "json": re.compile(r"(?!.*lexemes)(.*wikidata.*|.*-all)\.json(\.bz2|\.gz)?"),
    "truthy": re.compile(r".*truthy.*\.nt(\.bz2|\.gz)?"),
}
_IN_WORDS: dict[WikidataForm, str] = {
    "json": "*wikidata*.json or *-all.json (.bz2, .gz)",
    "truthy": "*truthy*.nt (.bz2, .gz)",
}


def find_wikidata(source: str | Path, form: WikidataForm = "json") -> Path:
    """The Wikidata dump in a folder (searched through), a glob, one file: the newest and fastest to unpack.

    Raises:
        EaseError: There is none, or several that neither date nor form tells apart, as one without a date.
    """
    files = list_files(source, _NAMES[form].fullmatch, _IN_WORDS[form])
    dates = {file: dump_date(file) for file in files}
    newest = max((date for date in dates.values() if date), default=None)
    # What has no date may be newer than any that has one.
    files = [file for file, date in dates.items() if date in (None, newest)]
    stems = {re.sub(r"\.(bz2|gz)$", "", str(file)) for file in files}
    if len(stems) > 1:
        names = ", ".join(str(file) for file in files)
        raise EaseError(f"{source} has several Wikidata dumps ({names}): name the one to take.")
    return min(files, key=lambda file: ("plain", "gz", "bz2").index(compression_of(file)))
