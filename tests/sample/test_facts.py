"""Facts and names against CLDR and ICU."""

from __future__ import annotations

from collections import Counter

import icu
import pytest

from ease.sample.facts import KINDS, Entity, Fact, World, read_world
from ease.sample.names import WikiNames, clean_name, read_names
from ease.sample.phrases import nouns
from ease.sample.wiki import Sample
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


def test_item_numbers_are_unique_and_above_the_real_ones(world: World) -> None:
    numbers = {entity.qid for entity in world.entities}
    assert len(numbers) == len(world.entities)
    assert min(numbers) > 9_000_000_000


def test_a_small_world_has_all_kinds_and_continents() -> None:
    kinds = Counter(entity.kind for entity in read_world(22).entities)
    assert set(kinds) == set(KINDS)
    assert kinds["territory"] == 22
    assert kinds["continent"] == 5


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


def test_equal_names_get_a_parenthesis() -> None:
    script = Entity("script", "Arab")
    language = Entity("language", "ar")
    names = read_names("en", [language, script, JAPAN], nouns("en"))
    assert names.names[language] == names.names[script] == "Arabic"
    assert names.titles[language] == "Arabic (language)"
    assert names.titles[script] == "Arabic (script)"
    assert names.titles[JAPAN] == "Japan"
    assert names.ambiguous == {"Arabic": (language, script)}


def test_an_entity_without_a_usable_name_has_no_article_in_that_language() -> None:
    lucia = Entity("territory", "LC")
    assert lucia not in read_names("en", [lucia], nouns("en")).names  # "St. Lucia" would be split
    french: WikiNames = read_names("fr", [lucia], nouns("fr"))
    assert french.names[lucia] == "Sainte-Lucie"


def test_names_are_normalised() -> None:
    assert clean_name("\u200fA\u0308gypten  und \u202bX\u202c") == "Ägypten und X"
