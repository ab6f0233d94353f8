"""The hand-written words of the sample Wikinews: complete, with the names of MewsC-16."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from ease.sample.news.writer import read_news_words
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
