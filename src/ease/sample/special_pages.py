"""Other pages than articles: redirects, disambiguation pages, an empty page, other namespaces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ease.sample.facts import STANDARDS, Entity
from ease.sample.markup import Aliases, ExpectedSentence
from ease.sample.pages import WikiPage
from ease.sample.phrases import Phrasebook
from ease.sample.site import Site
from ease.wikimedia.wikitext.article import Link
from ease.wikimedia.wikitext.titles import capitalize_first

LOOP = ("ISO 3166 QM", "ISO 3166 QN")
"""Titles of two redirects that lead to each other; ISO 3166 reserves these codes for users."""
EMPTY = "ISO 3166 QO"
MISSING = "ISO 3166 QP"
"""A title without a page, to which a redirect leads."""


_INFOBOX = '{| class="infobox"\n! {{{name|}}}\n|-\n| {{{image|}}}\n|}'


def name_aliases(entities: Sequence[Entity]) -> Aliases:
    """Return titles of redirects: one for each third entity, and one to that redirect for each sixth entity."""
    single = {entity: f"{STANDARDS[entity.kind]} {entity.code}" for entity in entities[::3]}
    double = {entity: f"{STANDARDS[entity.kind]}-{entity.code}" for entity in entities[::6]}
    return Aliases(single, double)


def write_redirects(book: Phrasebook, site: Site, aliases: Aliases) -> Iterator[WikiPage]:
    """Yield redirects to pages, to redirects, to a section, to a missing page, and a loop of redirects."""
    titles = book.wiki.titles
    section = book.headings["facts"]
    for number, (entity, alias) in enumerate(aliases.single.items()):
        if entity in titles:
            target = f"{titles[entity]}#{section}" if number % 10 == 3 else titles[entity]
            yield _redirect(alias, target, site, number)
    for number, (entity, alias) in enumerate(aliases.double.items()):
        if entity in titles:
            yield _redirect(alias, aliases.single[entity], site, number)
    yield _redirect(LOOP[0], LOOP[1], site, 0)
    yield _redirect(LOOP[1], LOOP[0], site, 1)
    yield _redirect(f"{MISSING} (1)", MISSING, site, 0)


def _redirect(title: str, target: str, site: Site, number: int) -> WikiPage:
    """Write a redirect with the wiki's own keyword or the English one."""
    keyword = site.redirect_keyword if number % 2 else "REDIRECT"
    return WikiPage(title, f"#{keyword} [[{target}]]", redirect=target.partition("#")[0])


def write_disambiguations(book: Phrasebook) -> Iterator[WikiPage]:
    """Yield a page for each name of several entities, and for one code of both a country and a language."""
    for title, entities in book.wiki.ambiguous.items():
        yield _disambiguation(book, title, entities, ())
    by_code = {entity.code.upper(): entity for entity in book.wiki.titles if entity.kind == "territory"}
    taken = {*book.wiki.titles.values(), *book.wiki.ambiguous}
    for entity in book.wiki.titles:
        code = entity.code.upper()
        if (
            entity.kind == "language"
            and code in by_code
            and capitalize_first(code, book.language) not in taken
        ):
            yield _disambiguation(book, code, (by_code[code], entity), (LOOP[0], EMPTY))
            return


def _disambiguation(
    book: Phrasebook, title: str, entities: Sequence[Entity], others: Sequence[str]
) -> WikiPage:
    """Write a list of a name's meanings; `others` are further titles."""
    before, _, after = book.notes["disambiguation"].partition("{X}")
    lines = [f"{before}'''{title}'''{after}", ""]
    expected = [ExpectedSentence(before + title + after)]
    for entity in entities:
        item = book.note("item", entity)
        start, end, _ = item.mentions[0]
        target = book.wiki.titles[entity]
        lines.append(f"* {item.text[:start]}[[{target}|{item.text[start:end]}]]{item.text[end:]}")
        expected.append(ExpectedSentence(item.text, (Link(start, end, target),)))
    for other in others:
        lines.append(f"* [[{other}]]")
        expected.append(ExpectedSentence(other, (Link(0, len(other), other),)))
    lines += ["", "{{Disambiguation}}"]
    return WikiPage(title, "\n".join(lines), sentences=tuple(expected))


def write_other_pages(book: Phrasebook, site: Site) -> Iterator[WikiPage]:
    """Yield an empty article, and pages of other namespaces with links, which parsers must ignore."""
    first = next(iter(book.wiki.titles.values()))
    message, talk = book.notes["message"], book.notes["talk"]
    yield WikiPage(EMPTY, "")
    for kind, words in book.words.items():
        text = f"{_INFOBOX}<noinclude>{message}</noinclude>"
        yield WikiPage(f"{site.names[10]}:Infobox {kind}", text, namespace=10)
        category = f"{site.names[14]}:{capitalize_first(words['many'], book.language)}"
        yield WikiPage(category, f"[[{first}]] {message}", namespace=14)
    yield WikiPage(f"{site.names[10]}:Fact", f"<sup>[{message}]</sup>", namespace=10)
    yield WikiPage(f"{site.names[1]}:{first}", f"{talk} [[{first}]] ~~~~", namespace=1)
    yield WikiPage(f"{site.names[4]}:{first}", f"{message} [[{first}]]", namespace=4)
