"""Broken, hostile and real wikitext: no errors, linear time, right offsets."""

from __future__ import annotations

import gc
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from ease.wikimedia.dumps.files import DumpFile, Shard, read_siteinfo
from ease.wikimedia.dumps.pages import iterate_pages
from ease.wikimedia.wikitext import templates
from ease.wikimedia.wikitext.parser import Article, parse_wikitext
from ease.wikimedia.wikitext.titles import SiteInfo, redirect_target
from tests.wikimedia.wikitext.hostile_sources import deep_sources, hostile_sources

ENGLISH = SiteInfo("en")
_INNER_MARKS = frozenset("\x01\x02\x03\x04\x05\x06\x07")


def check(article: Article) -> None:
    """Check what holds for every article."""
    text, position = article.text, 0
    assert not _INNER_MARKS & set(text)
    assert text == "\n".join(" ".join(line.split()) for line in text.split("\n") if line.strip())
    for start, end, target in article.links:
        assert position <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        assert "\n" not in text[start:end]
        assert target == target.strip()
        assert target
        position = end


def seconds(make: Callable[[int], str], characters: int, language: str) -> float:
    """Return the processor time to parse a source, to split it into sentences and to look for its redirect."""
    text = make(max(1, 100 * characters // len(make(100))))
    site = SiteInfo(language)
    gc.disable()  # it would visit all objects of other tests
    start = time.process_time()
    article = parse_wikitext(text + "\n[[End]] of it.", site)
    article.sentences()
    redirect_target(text, site)
    spent = time.process_time() - start
    gc.enable()
    if characters < 1_000_000:
        check(article)
    return spent


# In Arabic, letters on both sides belong to a link; Chinese has script variants.
GROWING = [("en", *source) for source in hostile_sources().items()]
GROWING += [("ar", *source) for source in deep_sources().items()]
GROWING += [("zh", *source) for source in hostile_sources().items() if "-{" in source[0]]


@pytest.mark.slow
@pytest.mark.parametrize(("language", "name", "make"), GROWING)
def test_time_grows_with_the_length(
    language: str, name: str, make: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten times the length takes about ten times as long; in quadratic time, it takes a hundred times as long."""
    if not name.startswith("a range"):  # no limit, so that longer arguments are read
        monkeypatch.setattr(templates, "_LONGEST_TEMPLATE", sys.maxsize)
    for characters in (10_000, 100_000):
        shorter = max(0.001, min(seconds(make, characters, language) for _ in range(3)))
        assert any(seconds(make, 10 * characters, language) < 40 * shorter for _ in range(3)), characters


def test_text_after_an_unclosed_template_is_kept() -> None:
    article = parse_wikitext("{{Infobox\n" * 1000 + "A [[city]].\n\nMore.", ENGLISH)
    assert article.text.endswith("A city.\nMore.")
    assert [link.target for link in article.links] == ["City"]


def test_random_markup_never_fails() -> None:
    tokens = [" ", "\n", "\t", "\xa0", "http://x "]
    tokens += "{{ }} {{{ }}} [[ ]] [ ] | {| |} |- == = '' ''' -{ }- ( ) , * # : _ ---- __TOC__".split()
    tokens += "<ref> </ref> <ref/> <!-- --> <nowiki> </nowiki> <br> <table> </table> &nbsp; &amp; %41".split()
    tokens += "File:a| Category: de: word é مرحبا 漢字 😀".split() + sorted(_INNER_MARKS)
    sites = [SiteInfo(language) for language in ("en", "ar", "tr", "zh")]
    generator = random.Random(7)
    for _ in range(4000):
        source = "".join(generator.choices(tokens, k=generator.randint(1, 60)))
        check(parse_wikitext(source, generator.choice(sites)))


def test_real_pages_have_right_offsets_and_no_markup(test_data: Path) -> None:
    left: Counter[str] = Counter()
    characters = links = 0
    for path in sorted((test_data / "dumps" / "wikipedia").glob("*wiki-*pages-articles*")):
        dump = DumpFile(path, path.name.partition("wiki")[0], None)
        site = read_siteinfo(dump.path, dump.language)
        for page in iterate_pages(Shard(dump, 0, path.stat().st_size)):
            article = parse_wikitext(page.text, site)
            check(article)
            if page.namespace:  # templates and pages that explain wikitext
                continue
            left.update({mark: article.text.count(mark) for mark in ("[[", "{{", "{|", "<ref")})
            characters += len(article.text)
            links += len(article.links)
    assert characters > 5_000_000
    assert links > 50_000
    assert left.total() < 10, left
