"""Pages of the sample wiki: markup, articles, redirects and special pages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from random import Random
from typing import NamedTuple

from ease.io.files import read_data_file
from ease.sample.world import (
    SHARED_FRAMES,
    STANDARDS,
    Entity,
    Fact,
    Phrasebook,
    Sentence,
    Site,
    Statement,
    WikiNames,
    World,
    statement_of,
    statement_of_two,
)
from ease.wikimedia.languages import Language
from ease.wikimedia.wikitext.parser import Link, link_prefix, link_trail
from ease.wikimedia.wikitext.titles import capitalize_first

RIGHT_TO_LEFT_MARK = "\u200f"

_STYLES = read_data_file("ease.sample", "markup_styles.yml")
_WORD = re.compile(r"(?<![\w'])[^\W\d_]{3,}(?![\w'\u0300-\u036f\u064b-\u0670\u200c])")


class ExpectedSentence(NamedTuple):
    """A sentence or heading that a parser should find."""

    text: str
    links: tuple[Link, ...] = ()


@dataclass(frozen=True)
class Aliases:
    """Titles of redirects by their target; `double` redirects lead there through another redirect."""

    single: Mapping[Entity, str]
    double: Mapping[Entity, str]


class Marker:
    """Writes sentences as wikitext; styles rotate, so that each occurs in every wiki."""

    def __init__(self, wiki: WikiNames, aliases: Aliases, heading: str, random: Random) -> None:
        """Prepare for a wiki; `heading` is the section that some links name, `random` shuffles the styles."""
        self._wiki = wiki
        self._aliases = {"redirect": aliases.single, "double_redirect": aliases.double}
        self._heading = heading
        self._link_styles = cycle(random.sample(_STYLES["links"], len(_STYLES["links"])))
        self._extras = cycle(random.sample(_STYLES["extras"], len(_STYLES["extras"])))
        self._trail = re.compile(link_trail(wiki.language))
        self._prefix = re.compile(link_prefix(wiki.language) or "")

    def write(
        self, sentence: Sentence, subject: Entity | None = None, lead: bool = False
    ) -> tuple[str, ExpectedSentence]:
        """Return a sentence as wikitext, and the expected result of parsing the wikitext.

        The page's subject is not linked, and bold in the page's first sentence (`lead`).
        """
        extra = next(self._extras)
        pieces: list[str] = []
        links: list[Link] = []
        position = 0
        for start, end, entity in sentence.mentions:
            pieces.append(sentence.text[position:start])
            surface = sentence.text[start:end]
            if entity == subject:
                pieces.append(f"'''{surface}'''" if lead and not links and "'" not in surface else surface)
                lead = False
            else:
                markup, target = self.link(surface, entity)
                pieces.append(markup)
                # An Arabic "and" before the link joins it.
                joined = self._prefix.match(sentence.text[position:start][::-1])
                links.append(Link(start - (joined.end() if joined else 0), end, target))
            position = end
        pieces.append(sentence.text[position:])
        text = sentence.text
        if extra == "direction" and Language(self._wiki.language).is_right_to_left:
            pieces[-1], text = (f"{end[:-1]}{RIGHT_TO_LEFT_MARK}{end[-1]}" for end in (pieces[-1], text))
        if extra in _STYLES["emphasis"]:
            _emphasise(pieces, *_STYLES["emphasis"][extra])
        trailer = _STYLES["trailers"].get(extra, "")
        trailer = trailer.replace("TITLE", self._wiki.titles[sentence.mentions[0].entity])
        return "".join(pieces) + trailer, ExpectedSentence(text, tuple(links))

    def link(self, surface: str, entity: Entity) -> tuple[str, str]:
        """Return a link with the text `surface` in the next style, and the title of its target."""
        style, title = next(self._link_styles), self._wiki.titles[entity]
        if alias := self._aliases.get(style, {}).get(entity):
            return f"[[{alias}|{surface}]]", alias
        if style == "plain" and capitalize_first(surface, self._wiki.language) == title:
            return f"[[{surface}]]", title
        if style == "trail" and surface[-4:-2].isalpha() and self._trail.fullmatch(surface[-2:]):
            return f"[[{title}|{surface[:-2]}]]{surface[-2:]}", title
        if style == "italic" and "'" not in surface:
            return f"[[{title}|''{surface}'']]", title
        return f"[[{self._head(style, title)}|{surface.replace('&', '&amp;')}]]", title

    def _head(self, style: str, title: str) -> str:
        """Write a title as a piped link in this style does."""
        language = self._wiki.language
        heads = {
            "underscores": title.replace(" ", "_"),
            "fragment": f"{title}#{self._heading}",
            "colon": f":{title}",
            "lower": lower_first(title, language),
            "marked": f"{RIGHT_TO_LEFT_MARK}{title}" if Language(language).is_right_to_left else title,
        }
        return heads.get(style, title)


def lower_first(title: str, language: str) -> str:
    """Lower the first letter if the wiki treats the result as the same title."""
    lowered = title[:1].lower() + title[1:]
    return lowered if capitalize_first(lowered, language) == title else title


def _emphasise(pieces: list[str], before: str, after: str) -> None:
    """Wrap the first suitable word of the prose (even positions) between names (odd positions), in place."""
    for place in range(0, len(pieces), 2):
        piece = pieces[place]
        for word in _WORD.finditer(piece):
            at_start, at_end = word.start() == 0 and place > 0, word.end() == len(piece)
            beside = pieces[place - 1][-1:] * at_start + "".join(pieces[place + 1 : place + 2])[:1] * at_end
            if "'" not in beside:  # five or six quotes in a row have another meaning
                pieces[place] = f"{piece[: word.start()]}{before}{word[0]}{after}{piece[word.end() :]}"
                return


OWN_PAGE_SHARE = 0.4
"""Share of the sentences on the page of an entity that they mention."""

_LEADS = {"territory": "located", "region": "part"}


@dataclass
class ArticlePlan:
    """Sentences of one article: the first one, those about its subject, and those about other entities."""

    entity: Entity
    lead: Sentence
    facts: list[Sentence] = field(default_factory=list)
    comparison: list[Sentence] = field(default_factory=list)


def facts_to_state(world: World, held_out: Collection[Fact], book: Phrasebook) -> dict[Entity, list[Fact]]:
    """Return the facts about each entity that are not held out and have names in the language."""
    names = book.wiki.names
    facts: dict[Entity, list[Fact]] = {entity: [] for entity in names}
    for fact in world.facts:
        if fact not in held_out and fact.subject in names and fact.object in names:
            facts[fact.subject].append(fact)
            facts[fact.object].append(fact)
    return facts


class StatementDeck:
    """Draws statements about an entity, evenly over the frames."""

    def __init__(self, world: World, held_out: Collection[Fact], book: Phrasebook) -> None:
        self._members: dict[str, list[Entity]] = defaultdict(list)
        for entity in world.entities:
            if entity in book.wiki.names:
                self._members[entity.kind].append(entity)
        self._facts: dict[Entity, dict[str, list[Fact]]] = defaultdict(lambda: defaultdict(list))
        for entity, facts in facts_to_state(world, held_out, book).items():
            for fact in facts:
                self._facts[entity][fact.relation].append(fact)

    def lead(self, entity: Entity, random: Random) -> Statement:
        """Draw an article's first statement: the location of a place, or the kind of the subject."""
        relation = _LEADS.get(entity.kind)
        facts = [fact for fact in self._facts[entity].get(relation or "", ()) if fact.subject == entity]
        if relation is None or not facts:
            return Statement("define", (entity,))
        return statement_of(random.choice(facts))

    def draw(self, entity: Entity, random: Random) -> Statement:
        """Draw a statement that mentions the entity: first its frame, then the other entities."""
        by_relation = self._facts[entity]
        ways = ["define", "several", *by_relation]
        ways += [SHARED_FRAMES[relation] for relation in by_relation if relation in SHARED_FRAMES]
        if "pays" in by_relation or "speaks" in by_relation:
            ways.append("pays_speaks")
        way = random.choice(ways)
        if way == "several":
            return self._several(entity, random)
        if way in by_relation:
            return statement_of(random.choice(by_relation[way]))
        if way == "pays_speaks":
            return self._pays_and_speaks(entity, random)
        relations = [relation for relation, shared in SHARED_FRAMES.items() if shared == way]
        return self._shared(entity, relations[0], random) if relations else Statement("define", (entity,))

    def _several(self, entity: Entity, random: Random) -> Statement:
        others = [other for other in random.sample(self._members[entity.kind], 3) if other != entity][:2]
        if len(others) < 2:
            return Statement("define", (entity,))
        return Statement("several", tuple(random.sample([entity, *others], 3)))

    def _pays_and_speaks(self, entity: Entity, random: Random) -> Statement:
        relations = [relation for relation in ("pays", "speaks") if relation in self._facts[entity]]
        fact = random.choice(self._facts[entity][random.choice(relations)])
        other = "speaks" if fact.relation == "pays" else "pays"
        partners = self._facts[fact.subject].get(other)
        if not partners:
            return statement_of(fact)
        return statement_of_two(fact, random.choice(partners))

    def _shared(self, entity: Entity, relation: str, random: Random) -> Statement:
        fact = random.choice(self._facts[entity][relation])
        partners = [
            other
            for other in self._facts[fact.object][relation]
            if other.object == fact.object and other.subject != fact.subject
        ]
        return statement_of_two(fact, random.choice(partners)) if partners else statement_of(fact)


def plan_articles(
    world: World, held_out: Collection[Fact], book: Phrasebook, sentences: int, seed: int
) -> list[ArticlePlan]:
    """Plan one article per entity, so that all entities are mentioned about equally often.

    `sentences` is the number in all articles; each has at least one.
    """
    random = Random(f"articles {seed} {book.language}")
    deck = StatementDeck(world, held_out, book)
    plans = {
        entity: ArticlePlan(entity, book.say(deck.lead(entity, random), template=0))
        for entity in world.entities
        if entity in book.wiki.names
    }
    entities = list(plans)
    left = max(0, sentences - len(plans))
    while left:
        random.shuffle(entities)
        for entity in entities[:left]:
            statement = deck.draw(entity, random)
            sentence = book.say(statement, random.randrange(1_000_000))
            host = random.choice(statement.entities if random.random() < OWN_PAGE_SHARE else entities)
            page = plans[host]
            (page.facts if host in statement.entities else page.comparison).append(sentence)
        left -= len(entities[:left])
    return list(plans.values())


@dataclass(frozen=True)
class WikiPage:
    """A page of a dump, and the sentences that a parser should find in it."""

    title: str
    text: str
    namespace: int = 0
    redirect: str | None = None
    sentences: tuple[ExpectedSentence, ...] = ()


class ArticleWriter:
    """Writes the articles of one wiki; a page's parts depend on its number, so each wiki has all of them."""

    def __init__(
        self,
        book: Phrasebook,
        site: Site,
        aliases: Aliases,
        facts: Mapping[Entity, Sequence[Fact]],
        titles_elsewhere: Mapping[str, Mapping[Entity, str]],
        random: Random,
    ) -> None:
        """Prepare for a wiki; `facts` are those of each entity that may be stated."""
        self._book = book
        self._site = site
        self._facts = facts
        self._titles_elsewhere = titles_elsewhere
        self._random = random
        self._titles = book.wiki.titles
        self._marker = Marker(book.wiki, aliases, book.headings["facts"], random)

    def write(self, plan: ArticlePlan, number: int) -> WikiPage:
        """Write an article; its number in the wiki selects its parts."""
        subject = plan.entity
        blocks: list[str] = []
        expected: list[ExpectedSentence] = []
        if number % 3 == 0:
            blocks.append(self._infobox(subject))
        if number % 5 == 1:
            blocks.append(self._picture(subject))
        first, rest = plan.facts[:1], plan.facts[1:]
        blocks.append(self._paragraph([plan.lead, *first], subject, expected, lead=True))
        if rest:
            blocks.append(self._heading("facts", expected))
            blocks.append(self._paragraph(rest, subject, expected))
        if number % 7 == 2:
            blocks.append(self._table(subject))
        if plan.comparison:
            blocks.append(self._heading("comparison", expected))
            write = self._list if number % 4 == 3 else self._paragraph
            blocks.append(write(plan.comparison, subject, expected))
        if number % 12 == 5:
            blocks.append(self._heading("see_also", expected))
            blocks.append(self._see_also(subject, expected))
        if number % 40 == 7:
            blocks.append(self._note_on_markup(subject, expected))
        blocks.append(self._foot(subject, number))
        text = "\n\n".join(block for block in blocks if block)
        return WikiPage(self._titles[subject], text, sentences=tuple(expected))

    def _paragraph(
        self,
        sentences: Sequence[Sentence],
        subject: Entity,
        expected: list[ExpectedSentence],
        lead: bool = False,
    ) -> str:
        """Write sentences as a paragraph, with line breaks that parsers must ignore."""
        space = Language(self._book.language).sentence_separator
        text = ""
        for position, sentence in enumerate(sentences):
            markup, found = self._marker.write(sentence, subject, lead and position == 0)
            text += ("\n" if position % 5 == 4 else space if position else "") + markup
            expected.append(found)
        return text

    def _list(self, sentences: Sequence[Sentence], subject: Entity, expected: list[ExpectedSentence]) -> str:
        bullet = self._random.choice("*#")
        lines = []
        for sentence in sentences:
            markup, found = self._marker.write(sentence, subject)
            lines.append(f"{bullet} {markup}")
            expected.append(found)
        return "\n".join(lines)

    def _heading(self, name: str, expected: list[ExpectedSentence]) -> str:
        words = self._book.headings[name]
        expected.append(ExpectedSentence(words))
        return f"== {words} =="

    def _see_also(self, subject: Entity, expected: list[ExpectedSentence]) -> str:
        others = [entity for entity in self._titles if entity.kind == subject.kind and entity != subject]
        items = [
            self._book.note("item", entity) for entity in self._random.sample(others, min(2, len(others)))
        ]
        return self._list(items, subject, expected)

    def _note_on_markup(self, subject: Entity, expected: list[ExpectedSentence]) -> str:
        """Write a sentence that shows wiki syntax, which is not a link."""
        before, _, after = self._book.notes["markup"].partition("{X}")
        syntax = f"[[{self._titles[subject]}]]"
        expected.append(ExpectedSentence(before + syntax + after))
        return f"{before}<nowiki>{syntax}</nowiki>{after}"

    def _infobox(self, subject: Entity) -> str:
        """Write a template with links, a file and nested templates."""
        rows = [
            f"| name = {self._book.wiki.names[subject]}",
            f"| image = [[{self._site.names[6]}:{subject.kind} {subject.code}.svg|200px]]",
            f"| code = {{{{Code|{{{{uc:{subject.code}}}}}|kind={subject.kind}}}}}",
        ]
        for fact in self._facts[subject][:4]:
            other = fact.object if fact.subject == subject else fact.subject
            rows.append(
                f"| {self._book.words[other.kind]['short']} = {{{{Nowrap|[[{self._titles[other]}]]}}}}"
            )
        return "\n".join([f"{{{{Infobox {subject.kind}", *rows, "}}"])

    def _picture(self, subject: Entity) -> str:
        """Write a file whose caption has a link."""
        caption = self._book.note("caption", subject)
        start, end, _ = caption.mentions[0]
        linked = (
            f"{caption.text[:start]}[[{self._titles[subject]}|{caption.text[start:end]}]]{caption.text[end:]}"
        )
        name = f"{self._site.names[6]}:{subject.kind} {subject.code} map.svg"
        return f'[[{name}|thumb|220px|{linked}<ref name="cldr" />]]'

    def _table(self, subject: Entity) -> str:
        rows = [
            f"|-\n| [[{self._titles[fact.subject]}]] || [[{self._titles[fact.object]}]]"
            for fact in self._facts[subject][:5]
        ]
        title = self._book.headings["list"]
        return "\n".join([f'{{| class="wikitable sortable"\n|+ {title}\n! A !! B', *rows, "|}"])

    def _foot(self, subject: Entity, number: int) -> str:
        """Write the end of a page: references, navigation, categories, links to other languages."""
        category = self._site.names[14] if number % 2 else "Category"
        sort_key = f"|{subject.code}" if number % 3 == 1 else ""
        lines = ["<references />"] if number % 4 < 2 else ["{{Reflist|2|refs={{{1|}}}}}"]
        lines.append(f"{{{{DEFAULTSORT:{subject.code}}}}}")
        lines.append(f"[[{category}:{self._book.words[subject.kind]['many']}{sort_key}]]")
        if number % 6 == 4:
            lines += [
                f"[[{language}:{titles[subject]}]]"
                for language, titles in self._titles_elsewhere.items()
                if subject in titles and language != self._book.language
            ][:5]
        return "\n".join(lines)


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
