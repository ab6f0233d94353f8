"""Language codes are checked before anything is read."""

from __future__ import annotations

import pytest

from ease.errors import EaseError
from ease.languages import PAPER_LANGUAGES, WIKIPEDIA_LANGUAGES, check_languages


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
