"""Words of a sample Wikinews, from `templates/`: namespaces, categories of topics, sentence templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from ease.io.data_files import read_data_file
from ease.sample.phrases import split_template
from ease.sample.site import Site, read_site


@dataclass(frozen=True)
class Topic:
    """A topic of MewsC-16 in one wiki."""

    name: str
    """The English name, as in the paper."""
    category: str
    former: str | None
    """A category that redirects to this category."""
    templates: tuple[tuple[str, ...], ...]
    """Sentence templates, split into literal text (even positions) and slots (odd positions)."""


@dataclass(frozen=True)
class NewsWords:
    """The words of one wiki."""

    site: Site
    topics: tuple[Topic, ...]
    templates: Mapping[str, str]
    """Names of the templates `date`, `source`, `archived` and `lead` in the wiki."""
    sources: str
    """Heading of the sources."""

    @property
    def renamed(self) -> tuple[Topic, ...]:
        """Topics whose category was renamed."""
        return tuple(topic for topic in self.topics if topic.former)


@cache
def read_news_words(language: str) -> NewsWords:
    """Read the words of a wiki."""
    content = read_data_file("ease.sample.news", f"templates/{language}.yml")
    wikipedia = read_site(language)
    own = dict(zip((4, 5), content["project"], strict=True))
    own |= dict(zip((2, 3), content.get("users", ()), strict=False))
    topics = tuple(
        Topic(
            name,
            topic["category"],
            topic.get("former"),
            tuple(split_template(line) for line in topic["sentences"].splitlines()),
        )
        for name, topic in content["topics"].items()
    )
    site = replace(wikipedia, names={**wikipedia.names, **own}, project="wikinews")
    return NewsWords(site, topics, content["templates"], content["sources"])
