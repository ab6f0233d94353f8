"""The dataset `dumps`, which `acquire` and `released_pairs` write, and `teach` for its languages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

Dumps = dict[str, Any]
"""The dumps' files with their dates, as `locate_dumps` of the pipeline `acquire` returns them"""


def has_items(dumps: Mapping[str, Any]) -> bool:
    """Return whether it is known which item a page is about: by Wikidata, page_props tables or a table of titles."""
    return bool(dumps["wikidata"] or dumps["page_props"] or dumps.get("titles"))


def released_files(dumps: Mapping[str, Any]) -> list[Path]:
    """Return the files of released pairs, if they were located in place of dumps."""
    return [Path(file["path"]).absolute() for file in dumps.get("released", ())]
