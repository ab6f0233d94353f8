"""Languages know their codes in other systems; wrong codes are refused."""

from __future__ import annotations

import re

import pytest

from ease.errors import EaseError
from ease.wikimedia import languages
from ease.wikimedia.languages import Language, check_codes, check_languages, nearest_companions


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ([], "No language is given"),
        (["en", "jp"], "Unknown language 'jp'"),
        (["en", "ja", "en"], "names en more than once"),
    ],
)
def test_wrong_choices_are_refused(chosen: list[str], message: str) -> None:
    with pytest.raises(EaseError, match=message):
        check_languages(chosen)


@pytest.mark.parametrize(
    ("code", "database", "bcp_47", "iso_639_3", "english_name"),
    [
        ("en", "en", "en", "eng", "English"),
        ("be-tarask", "be_x_old", "be-tarask", "bel", "Belarusian"),
        ("zh-min-nan", "zh_min_nan", "nan", "nan", "Min Nan Chinese"),
        ("nb", "no", "nb", "nob", "Norwegian Bokmål"),
    ],
)
def test_a_language_has_codes_in_other_systems(
    code: str, database: str, bcp_47: str, iso_639_3: str, english_name: str
) -> None:
    language = Language(code)
    assert (language.database, language.bcp_47) == (database, bcp_47)
    assert (language.iso_639_3, language.english_name) == (iso_639_3, english_name)


def test_databases_lead_back_to_their_languages() -> None:
    for code in languages.WIKIPEDIA_LANGUAGES:
        language = Language(code)
        assert Language.from_database(language.database).database == language.database


@pytest.mark.parametrize("code", ["be_x_old", "", "../en"])
def test_malformed_codes_are_refused(code: str) -> None:
    with pytest.raises(EaseError, match=f"Unknown language '{re.escape(code)}'.* lower-case letters"):
        check_codes(["de", code])


@pytest.mark.parametrize(
    ("language", "companions"),
    [("br", ["en", "fr"]), ("eu", ["en", "es"]), ("als", ["en", "de"]), ("eo", ["en"]), ("en", [])],
)
def test_english_and_the_related_large_languages_are_companions(language: str, companions: list[str]) -> None:
    assert nearest_companions(language) == companions
    assert nearest_companions("br", among=("en", "de")) == ["en"]
