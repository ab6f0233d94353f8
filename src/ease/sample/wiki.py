"""The sample's wikis, whole: what is told in them, what is kept out, and their pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from ease.sample.articles import plan_articles
from ease.sample.facts import Entity, Fact, World, read_world
from ease.sample.held_out import HeldOut, draw_held_out
from ease.sample.names import read_names
from ease.sample.options import SampleOptions
from ease.sample.pages import ArticleWriter, WikiPage
from ease.sample.phrases import Phrasebook, make_phrasebook, nouns
from ease.sample.site import read_site
from ease.sample.special_pages import (
    name_aliases,
    write_disambiguations,
    write_other_pages,
    write_redirects,
)
from ease.wikimedia.languages import PAPER_LANGUAGES


@dataclass(frozen=True)
class Sample:
    """All that the sample is made from; it does not depend on which of its languages are written."""

    options: SampleOptions
    world: World
    books: Mapping[str, Phrasebook]
    """The phrasebooks of all 18 languages."""
    held_out: HeldOut


def prepare_sample(options: SampleOptions) -> Sample:
    """Read the facts and the names, and draw what is kept out.

    Raises:
        EaseError: If the world is too small for what is to be kept out.
    """
    world = read_world(options.territories)
    books = {
        language: make_phrasebook(read_names(language, world.entities, nouns(language)))
        for language in PAPER_LANGUAGES
    }
    return Sample(options, world, books, draw_held_out(world, books, options))


def write_pages(sample: Sample, language: str) -> list[WikiPage]:
    """Write all pages of one wiki, in the order of its dump."""
    options, book, site = sample.options, sample.books[language], read_site(language)
    random = Random(f"pages {options.seed} {language}")
    aliases = name_aliases(sample.world.entities)
    titles_elsewhere = {code: other.wiki.titles for code, other in sample.books.items()}
    kept_out = sample.held_out.facts
    writer = ArticleWriter(
        book, site, aliases, _told_facts(sample.world, kept_out, book), titles_elsewhere, random
    )
    plans = plan_articles(sample.world, kept_out, book, options.sentences_per_language, options.seed)
    pages = [writer.write(plan, number) for number, plan in enumerate(plans)]
    pages += write_redirects(book, site, aliases)
    pages += write_disambiguations(book)
    pages += write_other_pages(book, site)
    random.shuffle(pages)
    return pages


def _told_facts(world: World, kept_out: frozenset[Fact], book: Phrasebook) -> dict[Entity, Sequence[Fact]]:
    """Each entity's facts that the wiki may show in tables and boxes."""
    facts: dict[Entity, list[Fact]] = defaultdict(list)
    names = book.wiki.names
    for fact in world.facts:
        if fact not in kept_out and fact.subject in names and fact.object in names:
            facts[fact.subject].append(fact)
            facts[fact.object].append(fact)
    return {entity: facts[entity] for entity in names}
