"""The sample's templates are complete, with the right slots; its facts and names are those of CLDR and ICU."""

from __future__ import annotations

import re
import string
from collections import Counter

import icu
import pytest

from ease.sample.news.writer import read_news_words
from ease.sample.world import ENTITY_KINDS, FRAMES, Entity, Fact, Phrasebook, World, read_sentence_templates, read_world
from ease.wikimedia.languages import MEWSC16_LANGUAGES, PAPER_LANGUAGES

WORDS = {"one", "many"}
SLOTS = {"T", "T2", "C", "L", "N"}


@pytest.mark.parametrize("language", PAPER_LANGUAGES)
def test_each_language_has_at_least_four_templates_of_a_frame_and_all_words(language: str) -> None:
    english, content = read_sentence_templates("en"), read_sentence_templates(language)
    assert list(content["frames"]) == list(FRAMES)
    for frame, lines in content["frames"].items():
        templates = lines.splitlines()
        assert len(set(templates)) == len(templates) >= 4, frame
        for template in templates:
            slots = [name for _, name, _, _ in string.Formatter().parse(template) if name]
            assert sorted(slot for slot in slots if slot not in WORDS) == sorted(FRAMES[frame]), template
            assert frame in ("define", "several") or not WORDS.intersection(slots), template
    assert tuple(content["words"]) == ENTITY_KINDS
    assert all(set(forms) == {"one", "many", "short"} for forms in content["words"].values())
    for part in ("headings", "notes"):
        assert content[part].keys() == english[part].keys()
        for name, text in content[part].items():
            assert text.count("{X}") == english[part][name].count("{X}"), (part, name)


@pytest.mark.parametrize("language", MEWSC16_LANGUAGES)
def test_each_topic_has_the_same_templates_of_one_sentence_in_each_language(language: str) -> None:
    english = {topic.name: topic for topic in read_news_words("en").topics}
    topics = read_news_words(language).topics
    assert len(topics) >= 7
    assert [topic.name for topic in topics] == [name for name in english if name in {t.name for t in topics}]
    templates = [template for topic in topics for template in topic.templates]
    assert len(set(templates)) == len(templates) == 5 * len(topics)
    for topic in topics:
        slots = [Counter(template[1::2]) for template in topic.templates]
        assert slots == [Counter(template[1::2]) for template in english[topic.name].templates], topic.name
        assert all(set(counts) <= SLOTS and counts["T"] == 1 for counts in slots)
    for text in ("".join(template[::2]) for template in templates):
        assert text.endswith("。" if language == "ja" else ".")
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
    } <= set(world.facts)
    assert Fact("pays", Entity("territory", "FR"), Entity("currency", "FRF")) not in world.facts  # until 2002


def test_regions_agree_with_icu(world: World) -> None:
    for fact in world.facts:
        if fact.relation in ("located", "part"):
            region = icu.Region.getInstance(fact.subject.code)
            assert str(region.getContainingRegion()) == fact.object.code, fact


def test_an_entity_without_a_usable_name_has_no_article_in_that_language() -> None:
    lucia = Entity("territory", "LC")
    assert lucia not in Phrasebook("en", [lucia]).names  # "St. Lucia" would be split
    assert Phrasebook("fr", [lucia]).names[lucia] == "Sainte-Lucie"
