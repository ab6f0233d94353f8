"""Words of all languages, and what two sentences share."""

from __future__ import annotations

import pytest

from ease.search.page import marked_pieces
from ease.search.reasons import shared_words, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The yen, 1871!", ["The", "yen", "1871"]),
        ("日本の通貨は円です。", ["日本", "の", "通貨", "は", "円", "です"]),
        ("ภาษาไทย", ["ภาษา", "ไทย"]),
        ("عملة اليابان", ["عملة", "اليابان"]),
        ("𝔸 😀 b", ["𝔸", "b"]),
        ("", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_shared_words_ignore_case_and_are_listed_once_in_the_order_of_the_first_text() -> None:
    assert shared_words("The Yen and the STRASSE", "straße, yen THE") == ["The", "Yen", "STRASSE"]
    assert shared_words("円の", "日本の通貨は円です。") == ["円", "の"]
    assert shared_words("a b", "c d") == []


def test_pieces_join_to_the_text_and_mark_whole_words() -> None:
    text = "  The theory of the Yen."
    pieces = marked_pieces(text, ["the", "yen"])
    assert "".join(piece for piece, _ in pieces) == text
    assert [piece for piece, shared in pieces if shared] == ["The", "the", "Yen"]
