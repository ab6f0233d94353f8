"""Sentences that were cut after an abbreviation."""

from __future__ import annotations

import pytest

from ease.wikimedia.wikinews.first_sentences import Abbreviations


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "The president of Brazil, Mr."),
        ("en", "It was signed by George W."),
        ("en", "U.S."),
        ("de", "Sie traf Dr."),
        ("fr", "Il a rencontré M."),
        ("ru", "Это случилось в 2008 г."),
        ("ko", "워싱턴 D.C."),
    ],
)
def test_cut_sentences(language: str, sentence: str) -> None:
    assert Abbreviations(language).ends(sentence)


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "It rained."),
        ("en", "He is from the U.S"),
        ("pt", "Foi uma crise política nacional."),  # "al." is an abbreviation
        ("fr", "Ce sont ses effectifs globaux."),  # "aux." is one
        ("cs", "Bylo to ve městě San'á."),
        ("ko", "2006년에 촬영한 달."),  # a word of one syllable
        ("ja", "雨が降った。"),
        ("en", ""),
        ("en", "."),
    ],
)
def test_whole_sentences(language: str, sentence: str) -> None:
    assert not Abbreviations(language).ends(sentence)
