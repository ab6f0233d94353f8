"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LISTED = 40
"""Names that a message lists at most."""


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Return the known names that resemble a name, the most similar first."""
    spelt = {candidate.lower(): candidate for candidate in sorted(known)}
    return [spelt[match] for match in get_close_matches(name.lower(), sorted(spelt), n=count, cutoff=0.6)]


def suggest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest names, and all names if they are few."""
    names = sorted(known)
    near = nearest(name, names)
    question = f"did you mean {' or '.join(near)}? " if near else ""
    choices = f"Choose from {', '.join(names)}." if names and (len(names) <= LISTED or not near) else ""
    return (question + choices).strip() or "There is none."
