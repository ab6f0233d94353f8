"""The hand-written words of the sample Wikinews: complete, with the names of MewsC-16."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from ease.sample.news.words import read_news_words
from ease.wikimedia.languages import MEWSC16_LANGUAGES

SLOTS = {"T", "T2", "C", "L", "N"}


@pytest.mark.parametrize("language", MEWSC16_LANGUAGES)
def test_each_topic_has_the_same_templates_in_each_language(language: str) -> None:
    english = {topic.name: topic for topic in read_news_words("en").topics}
    topics = read_news_words(language).topics
    assert len(topics) >= 7
    assert [topic.name for topic in topics] == [name for name in english if name in {t.name for t in topics}]
    for topic in topics:
        slots = [Counter(template[1::2]) for template in topic.templates]
        assert slots == [Counter(template[1::2]) for template in english[topic.name].templates], topic.name
        assert all(set(own) <= SLOTS and own["T"] == 1 for own in slots)
        assert len(set(topic.templates)) == 5


@pytest.mark.parametrize("language", MEWSC16_LANGUAGES)
def test_each_template_is_one_unique_sentence(language: str) -> None:
    stop = "。" if language == "ja" else "."
    templates = [template for topic in read_news_words(language).topics for template in topic.templates]
    assert len(set(templates)) == len(templates)
    for template in templates:
        text = "".join(template[::2])
        assert text.endswith(stop)
        assert not re.search(r"[.。!?؟{}\[\]|<>=*#]", text[:-1]), text


@pytest.mark.parametrize("language", MEWSC16_LANGUAGES)
def test_two_categories_were_renamed_and_names_differ(language: str) -> None:
    words = read_news_words(language)
    assert [topic.name for topic in words.renamed] == ["Sports", "Economy and business"]
    names = [name for topic in words.topics for name in (topic.category, topic.former) if name]
    assert len(set(names)) == len(words.topics) + 2
    assert len(set(words.site.names.values())) == len(words.site.names)
    assert words.site.dbname == f"{language}wikinews"


def test_category_names_agree_with_the_published_data_set(test_data: Path) -> None:
    text = (test_data / "eval/mewsc16/en_cat_to_lang_cat.json").read_text(encoding="utf-8")
    published = json.loads(text)
    for language in MEWSC16_LANGUAGES:
        for topic in read_news_words(language).topics:
            expected = topic.name if language == "en" else published[topic.name][language]
            assert topic.category == expected
