"""The licence of a Wikinews text, by its language and the day of its last revision (`licences.yml`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from pydantic import TypeAdapter

from ease.io.data_files import read_data_file
from ease.io.models import StrictModel

UNKNOWN = "unknown"
"""The licence of a text without a known one; such a text is not published."""


class Licence(StrictModel):
    """A licence that holds for new text from a day on.

    Attributes:
        since: The first day.
        licence: Name on the hub, such as `cc-by-2.5`.
        certain: Whether the source names the licence and the day.
        source: Address of the decision.
    """

    since: date
    licence: str
    certain: bool
    source: str


_DATA = read_data_file("ease.wikimedia.wikinews", "licences.yml")
_ALL = TypeAdapter(list[Licence]).validate_python(_DATA["all"])
_OWN = TypeAdapter(dict[str, list[Licence]]).validate_python(_DATA["languages"])


def licence_history(language: str) -> list[Licence]:
    """Return the licences of a language's Wikinews, oldest first."""
    own = _OWN.get(language, [])
    return [licence for licence in _ALL if not own or licence.since < own[0].since] + own


def licence_in_force(history: Sequence[Licence], day: date | None) -> str:
    """Return the licence of text that was revised on a day; `unknown` before the first one or without a day."""
    past = [licence for licence in history if day is not None and licence.since <= day]
    return past[-1].licence if past else UNKNOWN
