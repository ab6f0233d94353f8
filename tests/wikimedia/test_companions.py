"""Companions of a language by CLDR's language matching."""

from __future__ import annotations

import pytest

from ease.wikimedia.companions import LARGE, nearest_companions
from ease.wikimedia.languages import WIKIPEDIA_LANGUAGES


@pytest.mark.parametrize(
    ("language", "companions"),
    [("br", ["en", "fr"]), ("eu", ["en", "es"]), ("als", ["en", "de"]), ("eo", ["en"]), ("en", [])],
)
def test_english_and_the_related_large_languages_are_companions(language: str, companions: list[str]) -> None:
    assert nearest_companions(language) == companions


def test_companions_are_chosen_among_the_given_languages() -> None:
    assert nearest_companions("br", among=("en", "de")) == ["en"]


def test_the_large_wikipedias_exist() -> None:
    assert set(LARGE) <= WIKIPEDIA_LANGUAGES
