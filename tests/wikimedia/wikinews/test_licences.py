"""The licence of a text by its wiki and the day of its last revision."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

import pytest

from ease.wikimedia.languages import MEWSC16_LANGUAGES
from ease.wikimedia.wikinews.editions import licence_history, licence_in_force


@pytest.mark.parametrize(
    ("language", "day", "expected"),
    [
        ("en", date(2005, 9, 24), "unknown"),
        ("en", date(2005, 9, 25), "cc-by-2.5"),
        ("en", date(2024, 12, 15), "cc-by-2.5"),
        ("en", date(2024, 12, 16), "cc-by-4.0"),
        ("es", date(2025, 1, 29), "cc-by-2.5"),
        ("es", date(2025, 1, 30), "cc-by-4.0"),
        ("de", date(2026, 1, 1), "cc-by-2.5"),
        ("ru", date(2026, 1, 1), "cc-by-2.5"),
        ("fa", date(2026, 1, 1), "cc-by-sa-4.0"),
        ("sv", date(2026, 1, 1), "cc-by-sa-4.0"),
        ("ar", date(2025, 1, 1), "cc-by-sa-4.0"),
        ("en", None, "unknown"),
    ],
)
def test_the_licence_in_force(language: str, day: date | None, expected: str) -> None:
    assert licence_in_force(licence_history(language), day) == expected


@pytest.mark.parametrize("language", [*MEWSC16_LANGUAGES, "he", "it", "zh"])
def test_each_history_is_in_order_and_has_sources(language: str) -> None:
    history = licence_history(language)
    assert all(earlier.since < later.since for earlier, later in pairwise(history))
    assert all(licence.source.startswith("https://") for licence in history)
