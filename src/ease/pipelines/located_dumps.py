"""The dataset `dumps`, which `acquire` and `released_pairs` write, and `teach` for its languages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ease.lazy import Table

Dumps = dict[str, Any]
"""The dumps' files with their dates, as `locate_dumps` of the pipeline `acquire` returns them"""


def has_items(dumps: Mapping[str, Any]) -> bool:
    """Return whether it is known which item a page is about: by Wikidata, page_props tables or a table of titles."""
    return bool(dumps["wikidata"] or dumps["page_props"] or dumps.get("titles"))


def usable_sitelinks(dumps: Mapping[str, Any], sitelinks: Table) -> Table | None:
    """Return the sitelinks; None if the items of pages are unknown, where titles take the place of items."""
    if has_items(dumps):
        return sitelinks
    return None


def has_types(dumps: Mapping[str, Any]) -> bool:
    """Return whether the types of entities are known: page_props tables name only the items of pages."""
    return bool(dumps["wikidata"])


def released_files(dumps: Mapping[str, Any]) -> list[Path]:
    """Return the files of released pairs, if they were located in place of dumps."""
    return [Path(file["path"]).absolute() for file in dumps.get("released", ())]
