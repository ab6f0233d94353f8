"""Letters around a link's brackets belong to the link's text as in MediaWiki."""

from __future__ import annotations

import pytest

from ease.wikimedia.wikitext.parser import link_trail
from tests.wikimedia.wikitext.test_wikitext import read


@pytest.mark.parametrize(
    ("language", "source", "text", "surfaces"),
    [
        ("sv", "''[[Dagens Nyheter]]''s chef", "Dagens Nyheters chef", ["Dagens Nyheter"]),
        ("en", "''[[bus]]''es", "buses", ["bus"]),
        ("en", "'''[[X]]'''bar '''''[[Y]]'''''z", "Xbar Yz", ["X", "Y"]),
        ("en", "<small>[[bus]]</small>es", "buses", ["bus"]),
        ("en", "<i><b>''[[bus]]''</b></i>es <b></b>", "buses", ["bus"]),
        ("en", "''[[bus]]es''", "buses", ["buses"]),
        ("en", "[[Foo|''[[bus]]''es]]", "buses", ["bus"]),
        ("en", "[[Foo|a [b] ''c'']]''es", "a [b] ces", ["a [b] c"]),
        ("ar", "ال''[[مغرب]]''ي", "المغربي", ["مغرب"]),
        ("en", "a ''[[b]]'' '''c''' d", "a b c d", ["b"]),
    ],
)
def test_quotes_and_tags_end_a_link_trail(language: str, source: str, text: str, surfaces: list[str]) -> None:
    found, links = read(source, language)
    assert found == text
    assert [surface for surface, _ in links] == surfaces


@pytest.mark.parametrize(
    ("language", "source", "surfaces"),
    [
        ("ar", "في ال[[مغرب]] و[[مصر|المصريين]].", ["المغرب", "والمصريين"]),
        ("ar", "وَ[[مصر]]", ["وَمصر"]),
        ("arz", "ال[[مغرب]]", ["المغرب"]),
        ("ar", "[[مصر]]ال[[مغرب]]", ["مصرال", "مغرب"]),
        ("ar", "1[[مصر]] «[[مغرب]]»", ["مصر", "مغرب"]),
        ("ar", "ال[[مغرب|[x] y]]", ["ال[x] y"]),
        ("hy", "նախա[[Հայաստան]]ը", ["նախաՀայաստանը"]),
        ("is", "Suður-[[Kórea]] og 1939–[[1945]]", ["Suður-Kórea", "1945"]),
        ("is", "[[Norður]]-kóreska - [[x]]-", ["Norður-kóreska", "x"]),
        ("en", "pre[[fix]]es", ["fixes"]),
        ("fa", "[[کتاب]]‌ها و [[کتاب]]‌", ["کتاب‌ها", "کتاب"]),
        ("ca", "[[Mar]]'l [[Terra]]'", ["Mar'l", "Terra"]),
        ("br", "[[X]]'où [[ar]]c'hwezh [[A]]C’H [[b]]cʼh", ["X", "arc'hwezh", "AC’H", "bc"]),
        ("kaa", "[[x]]'a [[y]]’a [[z]]'", ["x'a", "y’a", "z"]),
        ("se", "[[NRK]]:s [[x]]: [[y]]a:b", ["NRK:s", "x", "ya"]),
    ],
)
def test_letters_before_and_after_the_brackets(language: str, source: str, surfaces: list[str]) -> None:
    text, links = read(source, language)
    assert [surface for surface, _ in links] == surfaces
    if "|" not in source:
        assert text == source.replace("]]", "").replace("[[", "")


@pytest.mark.parametrize(
    ("language", "letters"),
    [
        *(("ba", "һың"), ("alt", "ӱ"), ("lbe", "аӀ"), ("cu", "ѣ"), ("ary", "ات"), ("inh", "аӀ")),
        *(("kbd", "Ӏэ"), ("ady", "хэ"), ("atj", "é"), ("avk", "é"), ("gcr", "é"), ("awa", "ों")),
        *(("anp", "ों"), ("lld", "ì"), ("smn", "đ"), ("nb", "ø"), ("mo", "ț"), ("ur", "وں"), ("skr", "یں")),
    ],
)
def test_link_trails_of_smaller_wikis_and_inherited_ones(language: str, letters: str) -> None:
    assert [surface for surface, _ in read(f"[[x]]{letters} y", language)[1]] == [f"x{letters}"]


@pytest.mark.parametrize("language", ["zh", "wuu", "nan", "hak", "zh-yue"])
def test_chinese_has_no_link_trails(language: str) -> None:
    assert link_trail(language) == ""
    assert [surface for surface, _ in read("[[bus]]es", language)[1]] == ["bus"]
