"""Facts and names against CLDR and ICU."""

from __future__ import annotations

from collections import Counter

import icu
import pytest

from ease.sample.wiki import Sample
from ease.sample.world import Entity, Fact, WikiNames, World, nouns, read_names, read_world
from ease.wikimedia.languages import PAPER_LANGUAGES

JAPAN, YEN, JAPANESE = Entity("territory", "JP"), Entity("currency", "JPY"), Entity("language", "ja")


@pytest.fixture(scope="module")
def world() -> World:
    return read_world(243)


def test_known_facts_are_included(world: World) -> None:
    assert {
        Fact("pays", JAPAN, YEN),
        Fact("speaks", JAPAN, JAPANESE),
        Fact("writes", JAPANESE, Entity("script", "Jpan")),
        Fact("located", JAPAN, Entity("region", "030")),
        Fact("part", Entity("region", "030"), Entity("continent", "142")),
        Fact("pays", Entity("territory", "FR"), Entity("currency", "EUR")),
    } <= set(world.facts)
    assert Fact("pays", Entity("territory", "FR"), Entity("currency", "FRF")) not in world.facts  # until 2002


def test_regions_agree_with_icu(world: World) -> None:
    for fact in world.facts:
        if fact.relation in ("located", "part"):
            region = icu.Region.getInstance(fact.subject.code)
            assert str(region.getContainingRegion()) == fact.object.code, fact


def test_at_least_500_entities_of_four_kinds_are_named_in_all_languages(sample: Sample) -> None:
    everywhere = set.intersection(*(set(book.wiki.names) for book in sample.books.values()))
    kinds = Counter(entity.kind for entity in everywhere)
    assert len(everywhere) >= 500
    assert sum(count >= 20 for count in kinds.values()) >= 4


@pytest.mark.parametrize("language", PAPER_LANGUAGES)
def test_titles_are_unique_and_differ_from_disambiguation_pages(sample: Sample, language: str) -> None:
    wiki = sample.books[language].wiki
    titles = list(wiki.titles.values())
    assert len(set(titles)) == len(titles)
    assert not wiki.ambiguous.keys() & set(titles)


def test_an_entity_without_a_usable_name_has_no_article_in_that_language() -> None:
    lucia = Entity("territory", "LC")
    assert lucia not in read_names("en", [lucia], nouns("en")).names  # "St. Lucia" would be split
    french: WikiNames = read_names("fr", [lucia], nouns("fr"))
    assert french.names[lucia] == "Sainte-Lucie"
