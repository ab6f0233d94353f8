"""Languages know their codes in other systems; wrong codes are refused."""

from __future__ import annotations

import pytest

from ease.errors import EaseError
from ease.wikimedia.languages import WIKIPEDIA_LANGUAGES, Language, check_languages, nearest_companions


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ([], "No language is given"),
        (["en", "jp"], "Unknown language 'jp'"),
        (["en", "ja", "en"], "names en more than once"),
        (["de", "be_x_old"], "Unknown language 'be_x_old'.* lower-case letters"),
        (["de", "../en"], r"Unknown language '\.\./en'.* lower-case letters"),
    ],
)
def test_wrong_choices_are_refused(choice: list[str], message: str) -> None:
    with pytest.raises(EaseError, match=message):
        check_languages(choice)


@pytest.mark.parametrize(
    ("code", "codes"),
    [
        ("en", ("en", "en", "eng", "English")),
        ("be-tarask", ("be_x_old", "be-tarask", "bel", "Belarusian")),
        ("zh-min-nan", ("zh_min_nan", "nan", "nan", "Min Nan Chinese")),
        ("nb", ("no", "nb", "nob", "Norwegian Bokmål")),
    ],
)
def test_a_language_has_codes_in_other_systems(code: str, codes: tuple[str, ...]) -> None:
    language = Language(code)
    assert (language.database, language.bcp_47, language.iso_639_3, language.english_name) == codes


def test_databases_lead_back_to_their_languages() -> None:
    for language in map(Language, WIKIPEDIA_LANGUAGES):
        assert Language.from_database(language.database).database == language.database


@pytest.mark.parametrize(("language", "companions"), [("br", ["en", "fr"]), ("eo", ["en"]), ("en", [])])
def test_english_and_the_related_large_languages_are_companions(language: str, companions: list[str]) -> None:
    assert nearest_companions(language) == companions
    assert nearest_companions("br", among=("en", "de")) == ["en"]
