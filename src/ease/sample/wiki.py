"""Contents of the sample's wikis: their facts, the held-out facts, and their pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from ease.sample.articles import facts_to_state, plan_articles
from ease.sample.facts import World, read_world
from ease.sample.held_out import HeldOut, draw_held_out
from ease.sample.names import read_names
from ease.sample.options import SampleOptions
from ease.sample.pages import ArticleWriter, WikiPage
from ease.sample.phrases import SAMPLE_LANGUAGES, Phrasebook, make_phrasebook, nouns
from ease.sample.site import read_site
from ease.sample.special_pages import (
    name_aliases,
    write_disambiguations,
    write_other_pages,
    write_redirects,
)


@dataclass(frozen=True)
class Sample:
    """The sample's content; independent of the languages that are written."""

    options: SampleOptions
    world: World
    books: Mapping[str, Phrasebook]
    """Phrasebooks of all languages of the sample."""
    held_out: HeldOut


def prepare_sample(options: SampleOptions) -> Sample:
    """Read the facts and names, and draw the held-out facts.

    Raises:
        EaseError: The world has too few facts.
    """
    world = read_world(options.territories)
    books = {
        language: make_phrasebook(read_names(language, world.entities, nouns(language)))
        for language in SAMPLE_LANGUAGES
    }
    return Sample(options, world, books, draw_held_out(world, books, options))


def write_pages(sample: Sample, language: str) -> list[WikiPage]:
    """Return all pages of one wiki in the order of its dump."""
    options, book, site = sample.options, sample.books[language], read_site(language)
    random = Random(f"pages {options.seed} {language}")
    aliases = name_aliases(sample.world.entities)
    titles_elsewhere = {code: other.wiki.titles for code, other in sample.books.items()}
    held_out = sample.held_out.facts
    writer = ArticleWriter(
        book, site, aliases, facts_to_state(sample.world, held_out, book), titles_elsewhere, random
    )
    plans = plan_articles(sample.world, held_out, book, options.sentences_per_language, options.seed)
    pages = [writer.write(plan, number) for number, plan in enumerate(plans)]
    pages += write_redirects(book, site, aliases)
    pages += write_disambiguations(book)
    pages += write_other_pages(book, site)
    random.shuffle(pages)
    return pages
