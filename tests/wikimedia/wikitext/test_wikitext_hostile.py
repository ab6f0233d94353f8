"""Broken, hostile and real wikitext: no errors, linear time, right offsets."""

from __future__ import annotations

import math
import random
import resource
import time
from collections import Counter
from multiprocessing import get_context
from pathlib import Path

import pytest

from benchmarks.links_against_wikipedia2vec import compare_all
from benchmarks.wikitext_growth import deep_sources, hostile_sources
from ease.wikimedia.dumps.files import DumpFile, Shard
from ease.wikimedia.dumps.pages import iterate_pages
from ease.wikimedia.dumps.siteinfo import read_siteinfo
from ease.wikimedia.wikitext.article import Article
from ease.wikimedia.wikitext.parser import parse_wikitext
from ease.wikimedia.wikitext.redirects import redirect_target
from ease.wikimedia.wikitext.titles import SiteInfo

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


def read_hostile_sources(times: int, seconds: int, begun: Path) -> None:
    """Parse every hostile source; the system kills this process if one takes more seconds of processor time."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # In Arabic, letters on both sides belong to a link.
    for language, sources in (("en", hostile_sources()), ("ar", deep_sources())):
        for name, make in sources.items():
            begun.write_text(f"{name} in {language}", encoding="utf-8")
            spent = math.ceil(time.process_time())
            resource.setrlimit(resource.RLIMIT_CPU, (spent + seconds, most))
            source = make(times)
            check(parse_wikitext(source + "\n[[End]] of it.", SiteInfo(language)))
            redirect_target(source, SiteInfo(language))


@pytest.mark.slow
def test_hostile_wikitext_takes_linear_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """100,000 repetitions take at most 0.7 seconds; quadratic time took 18 seconds and more."""
    for name in ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"):  # coverage would slow the process down
        monkeypatch.delenv(name, raising=False)
    begun = tmp_path / "begun"
    process = get_context("spawn").Process(target=read_hostile_sources, args=(100_000, 8, begun))
    process.start()
    process.join()
    assert process.exitcode == 0, f"It ended at {begun.read_text(encoding='utf-8')}"


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


def test_a_real_article_reads_as_prose(test_data: Path) -> None:
    path = test_data / "dumps" / "wikipedia" / "eswiki-mini-pages-articles.xml.bz2"
    dump = DumpFile(path, "es", None)
    (page,) = iterate_pages(Shard(dump, 0, path.stat().st_size))
    article = parse_wikitext(page.text, read_siteinfo(dump.path, dump.language))
    first = article.text.split("\n", 1)[0]
    assert first.startswith("Berlín (en alemán: Berlin) es la capital de Alemania y uno de los dieciséis")
    assert "Archivo:" not in article.text
    assert "Categoría:" not in article.text
    assert "{{" not in article.text


@pytest.mark.parametrize("language", ["ko", "tr"])
def test_links_agree_with_an_independent_parser(test_data: Path, language: str) -> None:
    path = test_data / "dumps" / "wikipedia" / f"{language}wiki-mini-pages-articles.xml.bz2"
    (agreement,) = compare_all([path])
    assert agreement.articles == 1
    assert agreement.ours > 100
    assert agreement.theirs_found >= 0.98
    assert agreement.ours_found >= 0.98
