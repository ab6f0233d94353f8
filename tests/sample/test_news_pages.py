"""The sample Wikinews: each case in each wiki, the expected results checked by an independent parser, real dumps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import mwparserfromhell
import pyarrow.parquet as pq
import pytest

from ease.sample.news.writer import CASES, PLAIN_CASE, SampleNews, read_news_words, write_sample_news
from ease.sample.options import SampleNewsOptions
from ease.wikimedia.dumps.files import read_siteinfo
from ease.wikimedia.languages import MEWSC16_LANGUAGES
from ease.wikimedia.wikitext.titles import SiteInfo, capitalize_first

from .conftest import DumpedPage, contents, read_dump


class Wiki(NamedTuple):
    """Pages of one wiki as lxml reads them, each with its expected result."""

    language: str
    site: SiteInfo
    pages: list[tuple[DumpedPage, dict[str, Any]]]


@pytest.fixture(scope="module", params=MEWSC16_LANGUAGES)
def wiki(news_files: SampleNews, request: pytest.FixtureRequest) -> Wiki:
    language = request.param
    (path,) = news_files.wikinews.glob(f"{language}wikinews-*.xml.bz2")
    rows = pq.read_table(news_files.truth, filters=[("language", "==", language)]).to_pylist()
    site = read_siteinfo(path, language)
    return Wiki(language, site, list(zip(read_dump(path), rows, strict=True)))


def test_each_wiki_has_each_case_other_namespaces_and_redirects(wiki: Wiki) -> None:
    cases = {row["case"] for _, row in wiki.pages if row["namespace"] == 0}
    assert cases == {*CASES, PLAIN_CASE, "redirect"}
    site = read_news_words(wiki.language).site
    assert {row["namespace"] for _, row in wiki.pages} == {0, 1, 4, 10, 14}
    for page, row in wiki.pages:
        if page.namespace:
            assert page.title.startswith(f"{site.names[page.namespace]}:")
            assert row["dropped"] == "other namespace"
        assert (page.redirect is not None) is page.text.startswith("#")
    keywords = {page.text.split()[0] for page, row in wiki.pages if row["case"] == "redirect"}
    assert keywords == {"#REDIRECT", f"#{site.redirect_keyword}"}
    titles = {page.title for page, _ in wiki.pages}
    assert all(page.redirect in titles for page, _ in wiki.pages if page.redirect is not None)


def _categories(text: str, wiki: Wiki) -> set[str]:
    """Categories of a page by mwparserfromhell."""
    prefixes = {"category", read_news_words(wiki.language).site.names[14].lower()}
    topics = set()
    for link in mwparserfromhell.parse(text, skip_style_tags=True).filter_wikilinks():
        title = re.sub("[\u200e\u200f]", "", str(link.title)).replace("_", " ")
        prefix, _, name = title.partition(":")
        if prefix.strip().lower() in prefixes:
            topics.add(capitalize_first(name.strip(), wiki.language))
    return topics


def _moved_categories(wiki: Wiki) -> Mapping[str, str]:
    """Targets of category pages that redirect, by a redirect or a template."""
    moved = {}
    for page in (page for page, _ in wiki.pages if page.namespace == 14):
        template = re.fullmatch(r"\{\{Category redirect\|(.+)\}\}", page.text)
        target = template[1] if template else page.redirect and page.redirect.partition(":")[2]
        if target:
            moved[page.title.partition(":")[2]] = target
    return moved


def test_topics_agree_with_an_independent_parser(wiki: Wiki) -> None:
    names = {topic.category: topic.name for topic in read_news_words(wiki.language).topics}
    moved = _moved_categories(wiki)
    assert len(moved) == 4
    for page, row in wiki.pages:
        if page.namespace or page.redirect is not None:
            continue
        categories = {moved.get(name, name) for name in _categories(page.text, wiki)}
        topics = [names[name] for name in categories if name in names]
        if row["topic"]:
            assert topics == [row["topic"]], page.title
        else:
            assert len(topics) == {"no topic": 0, "several topics": 2, "no prose": 1}[row["dropped"]]


def test_equal_options_give_equal_bytes(tmp_path: Path) -> None:
    small = SampleNewsOptions(news_per_language=60)
    first, second = (
        write_sample_news(tmp_path / languages[0], languages, small).folder
        for languages in (["fa", "ja"], ["ja", "fa"])
    )
    assert contents(first) == contents(second) != {}
