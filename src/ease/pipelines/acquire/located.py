"""Facts about the dumps that `acquire` located."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def has_items(dumps: Mapping[str, Any]) -> bool:
    """Return whether the dumps say which Wikidata item a page has: by a Wikidata dump or page_props tables."""
    return bool(dumps["wikidata"] or dumps["page_props"])
