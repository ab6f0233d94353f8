"""Sentence boundaries in many languages, as character offsets."""

from __future__ import annotations

import pytest

from ease.wikimedia.wikitext.sentences import SentenceSplitter, SplitterEngine

TEXTS = {
    "en": ("It rained. Did it? Yes!", ["It rained.", "Did it?", "Yes!"]),
    "el": ("Τι είναι αυτό; Είναι ένα βιβλίο. Ναι.", ["Τι είναι αυτό;", "Είναι ένα βιβλίο.", "Ναι."]),
    "ja": ("これは本です。あれは？はい。", ["これは本です。", "あれは？", "はい。"]),
    "th": ("ภาษาไทยเป็นภาษา\nบรรทัดที่สอง", ["ภาษาไทยเป็นภาษา", "บรรทัดที่สอง"]),
    "ar": ("ما هذا؟ هذا كتاب. نعم", ["ما هذا؟", "هذا كتاب.", "نعم"]),
}
both_engines = pytest.mark.parametrize("engine", ["polyglot", "icu"])


def split(language: str, text: str, engine: SplitterEngine = "polyglot") -> list[str]:
    starts, sentences = SentenceSplitter(language, engine).split(text)
    assert all(text[start:].startswith(sentence) for start, sentence in zip(starts, sentences, strict=True))
    return sentences


@both_engines
@pytest.mark.parametrize("language", TEXTS)
def test_sentences_follow_the_rules_of_the_language(language: str, engine: SplitterEngine) -> None:
    text, sentences = TEXTS[language]
    assert split(language, text, engine) == sentences


@both_engines
@pytest.mark.parametrize(
    ("language", "text", "sentences"),
    [
        ("ru", "Джон (англ. John) жил. Он умер.", ["Джон (англ. John) жил.", "Он умер."]),
        ("hy", "Ջոնը (անգլ. John) ապրել է։ Նա մահացավ։", ["Ջոնը (անգլ. John) ապրել է։", "Նա մահացավ։"]),
        ("uk", "😀 Мова (давн.-гр. Ἑλλάς) є.", ["😀 Мова (давн.-гр. Ἑλλάς) є."]),
        ("en", "So it is (or was. It is not.", ["So it is (or was.", "It is not."]),
        ("en", "Yes (a.\nNo) b.", ["Yes (a.", "No) b."]),
        ("en", "Yes (a. ", ["Yes (a."]),
    ],
)
def test_an_abbreviation_after_a_bracket_ends_no_sentence(
    language: str, text: str, sentences: list[str], engine: SplitterEngine
) -> None:
    assert split(language, text, engine) == sentences


def test_the_greek_question_mark_ends_a_sentence_in_greek_only() -> None:
    """polyglot's own tokenizer gives every language the same rules."""
    assert split("en", "Τι; Ναι.") == ["Τι; Ναι."]


@both_engines
@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("😀 One 𝒳. 😀😀 Two 👩‍👩‍👧. Three.", ["😀 One 𝒳.", "😀😀 Two 👩‍👩‍👧.", "Three."]),
        (" \n\t\n ", []),
        ("A\x00b. C\x1fd. \x85e", ["A\x00b.", "C\x1fd.", "e"]),
        ("no stop\nnext line\n\n  indented \r\nlast", ["no stop", "next line", "indented", "last"]),
    ],
)
def test_unusual_texts_do_not_fail(text: str, sentences: list[str], engine: SplitterEngine) -> None:
    assert split("en", text, engine) == sentences
