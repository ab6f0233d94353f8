"""Wikitext of wikis in other languages and scripts: variants, magic words, marks of sections, entities."""

from __future__ import annotations

import pytest

from ease.wikimedia.wikitext.titles import decode_entities, decode_title_entities
from tests.wikimedia.wikitext.test_wikitext import read


@pytest.mark.parametrize(
    ("language", "source", "text"),
    [
        ("zh", "用-{zh-hans|简}-字", "用简字"),
        ("zh", "-{zh-hans:计算机;zh-hant:電腦}-和-{[[电脑]]}--{T|zh:题}-。", "计算机和电脑。"),
        ("zh", "a-{zh-cn:x&nbsp;y&amp;z;zh-tw:w}-b", "ax y&zb"),
        ("zh", "-{Fate:stay}- -{Fate;stay night}-", "Fate:stay Fate;stay night"),
        ("zh", "甲-{A|zh-hans:嵌-{x}-;zh-hant:y}-乙", "甲嵌x乙"),
        ("zh", "甲-{H|zh-cn:博客; zh-tw:網誌;}-乙-{-|zh-cn:博客}-丙-{A;T|zh-cn:x}-丁", "甲乙丙丁"),
        ("zh", "甲-{ zh-hans : 简 ; zh-hant : 繁 ; }-乙", "甲简乙"),
        ("zh", "甲-{zh-hans:简;}-乙", "甲简乙"),
        ("zh", "甲-{R|zh-cn}-乙-{}-丙", "甲zh-cn乙丙"),
        ("zh", "-{open [[x]]", "-{open x"),
        ("zh", "a }- b", "a }- b"),
        ("zh", "[[-{zh-hans:甲;zh-hant:乙}-|-{丙}-]]", "丙"),
        ("zh", "-{[[甲|乙]]}-丙", "乙丙"),
        ("sr", "-{sr-ec:Ћ;sr-el:Ć}- -{HTML}-", "Ћ HTML"),
        ("kk", "-{kk-cyrl:а;kk-arab:ب}-", "а"),
        ("sr", "-{zh-hans:x;zh-hant:y}-", "zh-hans:x;zh-hant:y"),
        ("en", "f = -{x}- and -{zh-hans:a;zh-hant:b}-", "f = -{x}- and -{zh-hans:a;zh-hant:b}-"),
    ],
)
def test_variants_are_resolved_if_the_wiki_converts(language: str, source: str, text: str) -> None:
    assert read(source, language)[0] == text


@pytest.mark.parametrize(
    "word",
    [
        *("NOTOC", "notoc", "NoToc", "ללא_תוכן_עניינים", "KEIN_INHALTSVERZEICHNIS", "बिना_अनुक्रम", "अनुक्रम"),
        *("بی‌فهرست", "لا_وصلة_قسم_جديد", "KHÔNG_MỤC_LỤC", "БЕЗ_ОГЛАВЛЕНИЯ", "უგალერეო", "目次なし"),
        *("ഉള്ളടക്കംവേണ്ട", "ไม่มีสารบัญ", "노목차"),
    ],
)
def test_magic_words_of_all_languages_are_dropped(word: str) -> None:
    assert read(f"a __{word}__ b")[0] == "a b"


@pytest.mark.parametrize("tag", ["section", "Abschnitt", "trecho", "sección", "קטע", "SECTION"])
def test_section_tags_are_invisible(tag: str) -> None:
    source = (
        f'One <{tag} begin="a"/>sentence<{tag} end=a /> only.\n<{tag} begin=b />\nNext [[x]]<{tag} end=b />s'
    )
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
    assert " ".join(decode_title_entities(source).split()) == text
