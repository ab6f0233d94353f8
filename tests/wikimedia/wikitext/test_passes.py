"""The compiled passes give what their source gives, and the shortcuts what the general code gives, on random text."""

from __future__ import annotations

import importlib.util
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from ease.io.files import read_data_file
from ease.wikimedia.wikitext import parser, passes, template_replacement, templates
from ease.wikimedia.wikitext.markup import GAP
from ease.wikimedia.wikitext.parser import link_trail, parse_wikitext
from ease.wikimedia.wikitext.titles import SiteInfo
from tests.wikimedia.wikitext.checks import check_article

WORDS = r"""
{{ {{{ }} }}} {{!}} {{a|b {{c}} {| |} |- <br> <b> </b> <nowiki>[[a]]</nowiki> ' '' ''' '''' ''''' '''''' l'''a''
[[A]] [[b]]s [[i]] [[ß]] [[É]]x [[é|e]]é [[a.b]] [[St. X|y]] [[a_b|c]]s [[a|''b'']] [[漢]]字 [[a|😀]]'a [[A|]] [[A|b
[[ ]] [[|x]] [[File:a|b [[a#b|c]] [[:en:a]] [[a.]] [[a/b]] [[a]]-b [[Ⅳ]] [[ǆ]] ( ) [ ] （ ） “ « ” » , . ; : ! ? - – /
、 。 a B c. é 漢 😀 Dr. ا ---- =
"""
MARKS = [*"\x04 \x05 (\x05) [\x05] （\x05） (,\x05 \x05,) [[\x05]] \x07".split(" "), "\n\x06", "\n\x07= a ="]
SPACES = [*" \t\xa0\x85\x1c\u3000\u2028\u200b\n", "  ", "\n\n", "\n== a ==\n", "\n* "]
LONG = [f"[[{'a' * 63}]]", f"[[{'b' * 64}]]"]
OTHERS = "-{ }- __TOC__ <ref> </ref> <ref/> <!-- --> <table> </table> &nbsp; %41 File:a| de: | \x01 \x02 \x03 \x08"
TOKENS = [*WORDS.split(), *OTHERS.split(), *MARKS, *SPACES, *LONG, "\n#:", "\n----", "[[e\u0301]]"]
SITES = [SiteInfo(language) for language in ("en", "it", "tr", "ar", "ka", "zh")]


def random_texts(count: int) -> Iterator[str]:
    """Yield texts of few different tokens, so that patterns of several tokens occur."""
    generator = random.Random(count)
    for _ in range(count):
        few = generator.choices(TOKENS, k=generator.choice((3, 6, 12, 40)))
        yield "".join(generator.choices(few, k=generator.randint(1, 40)))


@pytest.fixture(scope="module")
def source() -> ModuleType:
    """The module as Python code, whether or not it is compiled."""
    path = Path(passes.__file__).with_name("passes.py")
    spec = importlib.util.spec_from_file_location("passes_source", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_compiled_passes_are_those_of_the_source(source: ModuleType) -> None:
    generator = random.Random(0)
    for text in random_texts(1500):
        for name in ("match_braces", "strip_quotes", "normalize_gaps", "join_blocks", "take_marks"):
            assert getattr(passes, name)(text) == getattr(source, name)(text), (name, text)
        places = sorted(generator.choices(range(len(text) + 1), k=6))
        starts, sentences = source.cut_sentences(text, places)
        assert passes.cut_sentences(text, places) == (starts, sentences)
        ends = [start + len(sentence) for start, sentence in zip(starts, sentences, strict=True)]
        columns = (starts, ends, places[::2], places[1::2])
        assert passes.sentences_of_links(*columns) == source.sentences_of_links(*columns)


def test_plain_links_are_read_as_others(monkeypatch: pytest.MonkeyPatch, source: ModuleType) -> None:
    texts = list(random_texts(1501))
    read = [parse_wikitext(text, SITES[number % len(SITES)]) for number, text in enumerate(texts)]
    assert sum(bool(article.links) for article in read) > 500
    for article in read:
        check_article(article)
    for plain in (source.read_plain_links, lambda text, position, *arguments: position):
        monkeypatch.setattr(parser, "read_plain_links", plain)
        for number, text in enumerate(texts):
            assert parse_wikitext(text, SITES[number % len(SITES)]) == read[number], text


def test_marks_of_holes_change_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = list(random_texts(3000))
    sites = [SITES[number % len(SITES)] for number in range(len(texts))]
    marked = list(map(parse_wikitext, texts, sites))
    assert sum(map(len, (article.holes for article in marked))) > 200
    for module in (template_replacement, templates):
        monkeypatch.setattr(module, "UNKNOWN_TEMPLATE", GAP)
    for text, site, article in zip(texts, sites, marked, strict=True):
        assert replace(article, holes=[]) == parse_wikitext(text, site), text
        assert article.holes == sorted(article.holes)
        assert all(0 <= hole <= len(article.text) for hole in article.holes)


def test_no_trail_begins_with_an_ascii_character_that_the_passes_ignore() -> None:
    trails = read_data_file("ease.wikimedia.wikitext", "link_trails.yml")
    for language in " ".join(("other", *trails["after"], *trails["with_marks"])).split():
        trail = re.compile(rf"^{link_trail(language)}")
        for character in map(chr, range(128)):
            texts = [character + letter for letter in ("", "a", "é", "я", "ا")]
            follows = any(trail.sub("", text, count=1) != text for text in texts)
            assert not follows or character.isalpha() or character in "'-:", (language, character)
