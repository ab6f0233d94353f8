"""The sample's templates are complete, with the right slots; its facts and names are those of CLDR and ICU."""

from __future__ import annotations

import re
import string
from collections import Counter

import icu
import pytest

from ease.sample.news.writer import read_news_words
from ease.sample.wiki import Sample
from ease.sample.world import (
    FRAMES,
    KINDS,
    Entity,
    Fact,
    Phrasebook,
    World,
    read_templates,
    read_world,
)
from ease.wikimedia.languages import MEWSC16_LANGUAGES, PAPER_LANGUAGES

WORDS = {"one", "many"}
SLOTS = {"T", "T2", "C", "L", "N"}


@pytest.mark.parametrize("language", PAPER_LANGUAGES)
def test_each_frame_has_at_least_four_templates_with_its_slots(language: str) -> None:
    frames = read_templates(language)["frames"]
    assert list(frames) == list(FRAMES)
    for frame, lines in frames.items():
        templates = lines.splitlines()
        assert len(set(templates)) == len(templates) >= 4, frame
        for template in templates:
            slots = [name for _, name, _, _ in string.Formatter().parse(template) if name]
            own = [slot for slot in slots if slot not in WORDS]
            assert sorted(own) == sorted(FRAMES[frame]), template
            assert set(slots) - set(own) <= (WORDS if frame in ("define", "several") else set()), template


@pytest.mark.parametrize("language", PAPER_LANGUAGES)
def test_words_headings_and_notes_are_complete(language: str) -> None:
    english, own = read_templates("en"), read_templates(language)
    assert tuple(own["words"]) == KINDS
    assert all(set(forms) == {"one", "many", "short"} for forms in own["words"].values())
    for part in ("headings", "notes"):
        assert own[part].keys() == english[part].keys()
        for name, text in own[part].items():
            assert text.count("{X}") == english[part][name].count("{X}"), (part, name)


@pytest.mark.parametrize("language", MEWSC16_LANGUAGES)
def test_each_topic_has_the_same_templates_of_one_sentence_in_each_language(language: str) -> None:
    english = {topic.name: topic for topic in read_news_words("en").topics}
    topics = read_news_words(language).topics
    assert len(topics) >= 7
    assert [topic.name for topic in topics] == [name for name in english if name in {t.name for t in topics}]
    for topic in topics:
        slots = [Counter(template[1::2]) for template in topic.templates]
        assert slots == [Counter(template[1::2]) for template in english[topic.name].templates], topic.name
        assert all(set(own) <= SLOTS and own["T"] == 1 for own in slots)
        assert len(set(topic.templates)) == 5
    stop = "。" if language == "ja" else "."
    templates = [template for topic in topics for template in topic.templates]
    assert len(set(templates)) == len(templates)
    for template in templates:
        text = "".join(template[::2])
        assert text.endswith(stop)
        assert not re.search(r"[.。!?؟{}\[\]|<>=*#]", text[:-1]), text


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
    everywhere = set.intersection(*(set(book.names) for book in sample.books.values()))
    kinds = Counter(entity.kind for entity in everywhere)
    assert len(everywhere) >= 500
    assert sum(count >= 20 for count in kinds.values()) >= 4


@pytest.mark.parametrize("language", PAPER_LANGUAGES)
def test_titles_are_unique_and_differ_from_disambiguation_pages(sample: Sample, language: str) -> None:
    wiki = sample.books[language]
    titles = list(wiki.titles.values())
    assert len(set(titles)) == len(titles)
    assert not wiki.ambiguous.keys() & set(titles)


def test_an_entity_without_a_usable_name_has_no_article_in_that_language() -> None:
    lucia = Entity("territory", "LC")
    assert lucia not in Phrasebook("en", [lucia]).names  # "St. Lucia" would be split
    assert Phrasebook("fr", [lucia]).names[lucia] == "Sainte-Lucie"
