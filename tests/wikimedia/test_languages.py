"""Language codes are checked before anything is read."""

from __future__ import annotations

import re

import pytest

from ease.errors import EaseError
from ease.wikimedia.languages import PAPER_LANGUAGES, WIKIPEDIA_LANGUAGES, check_codes, check_languages


def test_the_papers_languages_are_wikipedias() -> None:
    assert len(PAPER_LANGUAGES) == 18
    assert set(PAPER_LANGUAGES) <= WIKIPEDIA_LANGUAGES
    check_languages(PAPER_LANGUAGES)


@pytest.mark.parametrize(
    ("languages", "message"),
    [
        ([], "No language is given"),
        (["en", "jp"], "Unknown language 'jp'"),
        (["english"], "Unknown language 'english'"),
        (["EN"], "'EN' .* did you mean en"),
        (["en", "ja", "en"], "names en more than once"),
    ],
)
def test_wrong_choices_are_named(languages: list[str], message: str) -> None:
    with pytest.raises(EaseError, match=message):
        check_languages(languages)


@pytest.mark.parametrize("code", ["sat", "guc", "dtp", "to", "nr", "kk", "be-x-old", "zh-min-nan"])
def test_smaller_wikipedias_are_known(code: str) -> None:
    check_languages([code])


def test_the_code_of_a_newer_wikipedia_has_the_right_form() -> None:
    check_codes(["en", "xqa", "be-new1"])


@pytest.mark.parametrize("code", ["EN", "be_x_old", "en ", "", "-en", "en-", "1a", "é", "../en"])
def test_what_cannot_be_a_code_is_named(code: str) -> None:
    with pytest.raises(EaseError, match=f"Unknown language '{re.escape(code)}'.* lower-case letters"):
        check_codes(["de", code])
    with pytest.raises(EaseError, match="names de more than once"):
        check_codes(["de", "de"])
    with pytest.raises(EaseError, match="No language is given"):
        check_codes([])
