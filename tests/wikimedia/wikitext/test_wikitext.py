"""Wikitext becomes prose, with links where MediaWiki shows them, also in other languages and scripts."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ease.errors import EaseError
from ease.wikimedia.wikitext.parser import Link, parse_wikitext
from ease.wikimedia.wikitext.titles import SiteInfo, decode_entities, redirect_target
from tests.wikimedia.wikitext.checks import check_article

ENGLISH = SiteInfo("en")


def read(source: str, language: str = "en") -> tuple[str, list[tuple[str, str]]]:
    """Return the prose of a page, and the text and target of each link, after checking the offsets."""
    article = parse_wikitext(source, SiteInfo(language))
    check_article(article)
    return article.text, [(article.text[start:end], target) for start, end, target in article.links]


@pytest.mark.parametrize(
    ("source", "text", "links"),
    [
        ("a\x01b\x02 [[c\x03]]\x05d", "ab cd", [("cd", "C")]),
        ("'''[[X]]'''bar '''''[[Y]]'''''z", "Xbar Yz", [("X", "X"), ("Y", "Y")]),
        ("<i><b>''[[bus]]''</b></i>es <b></b>", "buses", [("bus", "Bus")]),
        ("[[Foo|a [b] ''c'']]''es", "a [b] ces", [("a [b] c", "Foo")]),
        ("[[bus|coach]]es, [[a]]1", "coaches, a1", [("coaches", "Bus"), ("a", "A")]),
        ("[[bus]]<!-- x -->es", "buses", [("buses", "Bus")]),
        ("[[Mercury (planet)|]]", "Mercury", [("Mercury", "Mercury (planet)")]),
        ("[[Foo|\n*a\n# b]]", "a b", [("a b", "Foo")]),
        ("[[Caf%C3%A9]]s [[:de:Stra%C3%9Fe%01]] [[a%5B]]", "Cafés de:Straße a%5B", [("Cafés", "Café")]),
        ("== [[7%25]] ==\n[[B%20C|{{x}}]] [[#d%0Ae]]", "7%\nB C #de", [("B C", "B C")]),
        ("[[Foo|a [b] c]]] d", "a [b] c] d", [("a [b] c", "Foo")]),
        ("[[Foo|&nbsp;bar&#160;]]baz", "bar baz", [("bar baz", "Foo")]),
        ("a [[Foo|({{x}})]] b", "a Foo b", [("Foo", "Foo")]),
        ("a [[Foo|({{x}}) b]]", "a b", [("b", "Foo")]),
        ("[[Foo|[[File:x.png]]]] bar", "bar", []),
        ("see [[https://foo|the site]]s and [[//foo]].", "see the sites and.", []),
        ("x [[A<b|y]] z", "x A<b|y z", []),
        ("x [[Foo|]", "x Foo|]", []),
        ("[[File:A.jpg|thumb|A [[cat]] on [http://x y]]]Text.", "Text.", []),
        ("[[File:A.jpg|thumb|[[File:B.jpg]] [[x|[y]]]]] Text [[z]].", "Text z.", [("z", "Z")]),
        ("[[File:A.jpg|thumb|two\n\nparagraphs [[x]]]]\nText.", "Text.", []),
        ("{{a|<nowiki>}}</nowiki>}}Text", "Text", []),
        ("Text {{open\n\n[[Foo]] goes on.", "Text {{open\nFoo goes on.", [("Foo", "Foo")]),
        ("{{#switch:2\n|2=[[b|I}}}]]\n}}After", "After", []),
        ("{{a|[[b}} c ]] d}} e", "e", []),
        ("{{a|[[b|{{{c}}} [[d}}]] {{e}}]]}} f", "f", []),
        ("{{{{a}} b}} c", "c", []),
        (":{| class=x\n|-\n| y\n|}\nB", "B", []),
        ("{{start}}\n|-\n| [[x]]\n|}\nB", "B", []),
        ("a <table><tr><td>[[x]]</td></tr></table> b", "a b", []),
        ("A.<ref>b [[c]]</ref> D.<ref name=x /> E<ref name='y'>z</ref>.", "A. D. E.", []),
        ("A\n   <!-- x --> \t\nB", "A B", []),
        ("a <nowiki>[[b]] ''c'' &amp; {{d}}</nowiki> e", "a [[b]] ''c'' & {{d}} e", []),
        ("<div>a</div><div>b</div>", "a\nb", []),
        ("see [http://x.org the [[site]]] now", "see the site now", [("site", "Site")]),
        ("a __TOC__ __NoToc__ __ללא_תוכן_עניינים__ b __KHÔNG_MỤC_LỤC__ __目次なし__ __init__", "a b __init__", []),
        ("l'''amico'' è '''x'''", "l'amico è x", []),
    ],
)
def test_links_are_found_and_other_markup_is_removed(source: str, text: str, links: list[tuple[str, str]]) -> None:
    assert read(source) == (text, links)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("* a\n* b\n** c\n# d\n: e\n; f\ng", "a\nb\nc\nd\ne\nf\ng"),
        ("== A ==\nb\n=== ''C'' === <!-- x -->\nd", "A\nb\nC\nd"),
        ("= [x] =\n==a", "[x]\n==a"),
        ("A [http://a.com/''B''] [//a.org/b'c'''D'''] [http://x<b>E</b> f] end", "A B D E f end"),
        ("<poem>\nOne\n ''two'' [[a]]\n\nthree</poem> b\n<poem>c\nd", "One\ntwo a\nthree\nb\nc d"),
        ("[[a: \ud800|b]] c", "b c"),
        ("======== a ========", "== a =="),
        ("a\u2003b\xa0 c", "a b c"),
        ("'''*NSYNC''' is\n*b", "*NSYNC is\nb"),
        ("{{x}}* a\n[[#b|:c]]\n[//d ;e]", "* a :c ;e"),
        ("{{lang|ine|*wed-}} is\n{{nowrap|=a=}}", "*wed- is =a="),
        ("* *a\n#<!-- x --># b\n<!-- x -->* c", "*a\nb\nc"),
        ("Berlin ({{IPA|x}}, {{y}} [[Latin]]: {{z}}) is", "Berlin (Latin) is"),
        ("( {{x}} ({{y}}))a", "a"),
        ("* {{x}}: a\n** {{y}}:\n{{z}} ; {{z}}; b", "a\nb"),
    ],
)
def test_blocks_are_lines_and_punctuation_around_removed_markup_is_normalised(source: str, text: str) -> None:
    assert read(source)[0] == text


def test_offsets_count_code_points_from_right_to_left_and_beyond_the_bmp() -> None:
    source = "𝔘𝔫𝔦 {{x}} [[𝔅erlin|😀 b]] — '''برلين''' هي [[عاصمة]] [[ألمانيا|المانيا]]."
    text, links = read(source, "ar")
    assert text == "𝔘𝔫𝔦 😀 b — برلين هي عاصمة المانيا."
    assert links == [("😀 b", "𝔅erlin"), ("عاصمة", "عاصمة"), ("المانيا", "ألمانيا")]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("#redirect:[[berlin#History|x]] {{R}}", "Berlin"),
        ("\n #WEITERLEITUNG [[Berlin_(Stadt)]]", "Berlin (Stadt)"),
        ("＃転送 [[Berlin]]", "Berlin"),
        ("#one [[Foo]] is first\n#two [[Bar]]", None),
        ("#REDIRECT [[#x]]", None),
    ],
)
def test_redirects(source: str, target: str | None) -> None:
    assert redirect_target(source, ENGLISH) == target


def test_a_language_code_is_enough() -> None:
    source = "[[Archivo:X.jpg|thumb]]Es la [[ciudad]]es. Fin."
    article = parse_wikitext(source, language="es")
    assert article == parse_wikitext(source, SiteInfo("es"))
    assert [(sentence.text, sentence.links) for sentence in article.sentences()] == [
        ("Es la ciudades.", [Link(6, 14, "Ciudad")]),
        ("Fin.", []),
    ]
    assert parse_wikitext("[[File:A.jpg]][[bus]]es").text == "buses"
    with pytest.raises(EaseError, match="Unknown language 'english' in `language`: use a code such as en"):
        parse_wikitext("x", "english")


@pytest.mark.parametrize(
    ("language", "source", "surfaces"),
    [
        ("de", "[[Fuß]]gängerß", ["Fußgängerß"]),
        ("en", "[[caf]]é pre[[fix]]es", ["caf", "fixes"]),
        ("tr", "[[şehir]]İn", ["şehirİn"]),
        ("zh", "[[bus]]es", ["bus"]),
        ("ar", "في ال[[مغرب]] و[[مصر|المصريين]].", ["المغرب", "والمصريين"]),
        ("ar", "وَ[[مصر]] 1[[مصر]] «[[مغرب]]»", ["وَمصر", "مصر", "مغرب"]),
        ("ar", "ال[[مغرب|[x] y]]", ["ال[x] y"]),
        ("ar", "ال''[[مغرب]]''ي", ["مغرب"]),
        ("ar", "[[:en:مصر|مصر]][[مغرب]]", ["مغرب"]),
        ("hy", "նախա[[Հայաստան]]ը", ["նախաՀայաստանը"]),
        ("is", "Suður-[[Kórea]] og 1939–[[1945]]", ["Suður-Kórea", "1945"]),
        ("fa", "[[کتاب]]‌ها و [[کتاب]]‌", ["کتاب‌ها", "کتاب"]),
        ("br", "[[X]]'où [[ar]]c'hwezh [[A]]C’H [[b]]cʼh", ["X", "arc'hwezh", "AC’H", "bc"]),
        ("se", "[[NRK]]:s [[x]]: [[y]]a:b", ["NRK:s", "x", "ya"]),
    ],
)
def test_letters_before_and_after_the_brackets(language: str, source: str, surfaces: list[str]) -> None:
    text, links = read(source, language)
    assert [surface for surface, _ in links] == surfaces
    if "|" not in source:
        assert text == re.sub(r"\[\[|\]\]|''", "", source)


@pytest.mark.parametrize(
    ("language", "source", "text"),
    [
        ("zh", "-{zh-hans:计算机;zh-hant:電腦}-和-{[[电脑]]}--{T|zh:题}-。", "计算机和电脑。"),
        ("zh", "甲-{H|zh-cn:博客; zh-tw:網誌;}-乙-{-|zh-cn:博客}-丙-{A;T|zh-cn:x}-丁", "甲乙丙丁"),
        ("zh", "甲-{R|zh-cn}-乙-{}-丙", "甲zh-cn乙丙"),
        ("zh", "-{open [[x]]", "-{open x"),
        ("zh", "[[-{zh-hans:甲;zh-hant:乙}-|-{丙}-]]", "丙"),
        ("sr", "-{sr-ec:Ћ;sr-el:Ć}- -{HTML}-", "Ћ HTML"),
        ("sr", "-{zh-hans:x;zh-hant:y}-", "zh-hans:x;zh-hant:y"),
        ("en", "f = -{x}- and -{zh-hans:a;zh-hant:b}-", "f = -{x}- and -{zh-hans:a;zh-hant:b}-"),
    ],
)
def test_variants_are_resolved_if_the_wiki_converts(language: str, source: str, text: str) -> None:
    assert read(source, language)[0] == text


def test_section_tags_are_invisible() -> None:
    for tag in ("Abschnitt", "SECTION"):
        source = f'One <{tag} begin="a"/>sentence<{tag} end=a /> only.\n<{tag} begin=b />\nNext [[x]]<{tag} end=b />s'
        assert read(source) == ("One sentence only. Next xs", [("x", "X")])


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("&sectional; &sect; &notit; &copyright; &amp;sect;", "&sectional; § &notit; &copyright; &sect;"),
        (f"&#{'1' * 5000}; &#x{'f' * 5000}; &#{'0' * 5000}65; &#0;", "\ufffd \ufffd A \ufffd"),
        ("&lt;b&gt; &#x41;&#66; &Aacute;&aacute; &nbsp; &", "<b> AB Áá &"),
    ],
)
def test_entities_by_their_exact_names(source: str, text: str) -> None:
    assert read(source)[0] == text
    assert " ".join(decode_entities(source).split()) == text


@pytest.mark.parametrize("value", [None, b"text", 5])
def test_another_type_than_a_text_is_refused(value: Any) -> None:
    with pytest.raises(EaseError, match="`text` of `parse_wikitext` is .*: give str"):
        parse_wikitext(value)
