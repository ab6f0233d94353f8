"""The wikis' pages: every feature of real pages in every language, and no held-out facts."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import pytest

from ease.sample.pages import EMPTY, LOOP, RIGHT_TO_LEFT_MARK
from ease.sample.wiki import Sample
from ease.sample.world import Entity, Fact, read_site
from ease.wikimedia.languages import PAPER_LANGUAGES
from ease.wikimedia.wikitext.parser import link_trail
from ease.wikimedia.wikitext.titles import capitalize_first

from .conftest import DumpedPage

pytestmark = pytest.mark.slow

Dumps = Mapping[str, Sequence[DumpedPage]]
NO_TRAILS = {"ja", "ko"}
"""Languages whose link trails are Latin letters, in which their names do not end."""


@pytest.mark.parametrize("language", PAPER_LANGUAGES)
def test_each_wiki_has_what_real_wikis_have(dumped_pages: Dumps, language: str) -> None:
    articles = (page.text for page in dumped_pages[language] if page.namespace == 0 and page.redirect is None)
    source = "\n\n".join(articles)
    file, category = read_site(language).names[6], read_site(language).names[14]
    patterns = {
        "piped link": r"\[\[[^\[\]|#:]+\|[^\[\]|]+\]\]",
        "fragment": r"\[\[[^\[\]|#]+#[^\[\]|]+\|",
        "underscore": r"\[\[[^\[\]|# ]+_[^\[\]|# ]+\|",
        "leading colon": r"\[\[:[^\[\]|]+\|",
        "italics in a label": r"\[\[[^\[\]|]+\|''[^']",
        "redirect in a link": r"\[\[ISO [0-9]+ \w+\|",
        "double redirect in a link": r"\[\[ISO [0-9]+-\w+\|",
        "infobox with nested braces": r"\{\{Infobox [^{}]*\{\{Code\|\{\{uc:\w+\}\}",
        "infobox with links": r"\n\| \w.* = \{\{Nowrap\|\[\[",
        "table": r"\n\{\| class=.*?\n\|\}",
        "named reference": r'<ref name="\w+">[^<]*\[\[',
        "self-closed reference": r'<ref name="\w+" />',
        "comment": r"<!-- \[\[.*? -->",
        "nowiki with a link": r"<nowiki>\[\[[^\]]+\]\]</nowiki>",
        "file with a link in its caption": rf"\[\[{re.escape(file)}:[^\[\]]+\|thumb\|[^\[\]]*\[\[",
        "category": rf"\[\[{re.escape(category)}:",
        "interlanguage link": r"\n\[\[(?:ar|ca|cs|de|en|eo|es|fa|fr):[^\[\]]+\]\]",
    }
    missing = [name for name, pattern in patterns.items() if not re.search(pattern, source, re.DOTALL)]
    assert not missing
    assert (RIGHT_TO_LEFT_MARK in source) is (language in {"ar", "fa"})
    if language not in NO_TRAILS:
        assert re.search(rf"\[\[[^\[\]]+\]\](?=[^\W\d_]){link_trail(language)}", source)

    pages, site = dumped_pages[language], read_site(language)
    by_title = {page.title: page for page in pages}
    assert len(by_title) == len(pages)
    redirects = {page.title: page.redirect for page in pages if page.redirect is not None}
    single = [title for title, target in redirects.items() if target not in redirects and target in by_title]
    double = [title for title, target in redirects.items() if redirects.get(target or "") in by_title]
    assert len(single) > 100
    assert len(double) > 50
    assert (redirects[LOOP[0]], redirects[LOOP[1]]) == LOOP[::-1]
    keywords = {by_title[title].text.split()[0] for title in redirects}
    assert keywords == {"#REDIRECT", f"#{site.redirect_keyword}"}
    assert by_title[EMPTY].text == ""
    assert {1, 4, 10, 14} <= {page.namespace for page in pages}
    assert all(page.title.startswith(f"{site.names[page.namespace]}:") for page in pages if page.namespace)


@pytest.mark.parametrize("language", PAPER_LANGUAGES)
def test_no_page_states_a_held_out_fact(dumped_pages: Dumps, sample: Sample, language: str) -> None:
    """Both entities of a held-out fact occur in no sentence, infobox or table row together."""
    wiki, pages = sample.books[language], dumped_pages[language]
    partners = partners_by_title(sample.held_out, wiki.titles)
    stated_partners = partners_by_title(set(sample.world.facts) - sample.held_out, wiki.titles)
    assert len(partners) > 100
    stated = 0
    subjects = {title: wiki.names[entity] for entity, title in wiki.titles.items()}
    redirects = {page.title: page.redirect for page in pages if page.redirect is not None}
    # References follow the full stop of their sentence.
    notes = r"<!--.*?-->|<ref[^<>]*/>|<ref.*?</ref>|\{\{Fact\|[^{}]*\{\{[^{}]*\}\}\}\}"
    for page in (page for page in pages if page.namespace == 0 and page.redirect is None):
        for unit in re.split(r"\n|。" if language == "ja" else r"\n|\.", re.sub(notes, "", page.text)):
            heads = re.findall(r"\[\[[:\u200f]?([^\[\]|#]+)", unit)
            titles = {capitalize_first(head.replace("_", " "), language) for head in heads}
            for _ in range(2):
                titles = {redirects.get(title) or title for title in titles}
            # A page does not link its own subject.
            if subjects.get(page.title, page.title) in re.sub(r"\[\[[^\[\]]+\]\]", "", unit):
                titles.add(page.title)
            assert not any(partners.get(title, set()) & titles for title in titles), unit
            stated += any(stated_partners.get(title, set()) & titles for title in titles)
    assert stated > 1000, "stated facts are found in this way"


def partners_by_title(facts: Collection[Fact], titles: Mapping[Entity, str]) -> dict[str, set[str]]:
    """Titles that share a fact with a title."""
    partners: dict[str, set[str]] = {}
    for fact in facts:
        if fact.subject in titles and fact.object in titles:
            partners.setdefault(titles[fact.subject], set()).add(titles[fact.object])
            partners.setdefault(titles[fact.object], set()).add(titles[fact.subject])
    return partners
