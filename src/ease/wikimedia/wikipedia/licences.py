"""The licence of Wikipedia's text, by the date of the dump."""

from __future__ import annotations

LATEST = "cc-by-sa-4.0"
CHANGES = (("20230607", LATEST), ("20090615", "cc-by-sa-3.0"), ("", "gfdl"))
"""The licence from a day on, newest first (https://foundation.wikimedia.org/wiki/Policy:Terms_of_Use)."""


def wikipedia_licence(dump_date: str | None) -> str:
    """Return the licence of a dump's text, as the hub names it.

    Args:
        dump_date: Year, month and day; None: unknown, which counts as new.
    """
    if dump_date is None:
        return LATEST
    return next(licence for since, licence in CHANGES if dump_date >= since)
