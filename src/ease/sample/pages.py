"""Pages of the sample wiki: markup, articles, redirects and special pages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from random import Random

from ease.io.files import read_data_file
from ease.sample.world import (
    SHARED_FRAMES,
    STANDARDS,
    Entity,
    Fact,
    Phrasebook,
    SampleSentence,
    Site,
    Statement,
    statement_of,
    statement_of_two,
)
from ease.wikimedia.languages import Language
from ease.wikimedia.wikitext.parser import link_trail
from ease.wikimedia.wikitext.titles import capitalize_first

RIGHT_TO_LEFT_MARK = "\u200f"

_STYLES = read_data_file("ease.sample", "markup_styles.yml")
_WORD = re.compile(r"(?<![\w'])[^\W\d_]{3,}(?![\w'\u0300-\u036f\u064b-\u0670\u200c])")

Aliases = Mapping[str, Mapping[Entity, str]]
"""Titles of redirects by link style and target; a `double_redirect` leads there through a `redirect`."""


@dataclass(frozen=True)
class WikiPage:
    """A page of a dump."""

    title: str
    text: str
    namespace: int = 0
    redirect: str | None = None


class Marker:
    """Writes sentences as wikitext; styles rotate, so that each occurs in every wiki.

    Some links name the section `heading`.
    """

    def __init__(self, book: Phrasebook, aliases: Aliases, heading: str, random: Random) -> None:
        self._language = book.language
        self._titles = book.titles
        self._is_right_to_left = Language(book.language).is_right_to_left
        self._aliases = aliases
        self._heading = heading
        self._link_styles = cycle(random.sample(_STYLES["links"], len(_STYLES["links"])))
        self._extras = cycle(random.sample(_STYLES["extras"], len(_STYLES["extras"])))
        self._trail = re.compile(link_trail(book.language))

    def write(self, sentence: SampleSentence, subject: Entity | None = None, lead: bool = False) -> tuple[str, str]:
        """Return a sentence as wikitext, and the text that a parser should find in it.

        The page's subject is not linked, and bold in the page's first sentence (`lead`).
        """
        extra = next(self._extras)
        pieces: list[str] = []
        position = 0
        for start, end, entity in sentence.mentions:
            pieces.append(sentence.text[position:start])
            surface = sentence.text[start:end]
            if entity != subject:
                surface = self._link(surface, entity)
            elif lead and "'" not in surface:
                # An apostrophe beside the quotes would change their meaning.
                surface = f"'''{surface}'''"
            pieces.append(surface)
            lead = False
            position = end
        pieces.append(sentence.text[position:])
        text = sentence.text
        if extra == "direction" and self._is_right_to_left:
            pieces[-1] = _mark_direction(pieces[-1])
            text = _mark_direction(text)
        if extra in _STYLES["emphasis"]:
            _emphasise(pieces, *_STYLES["emphasis"][extra])
        trailer = _STYLES["trailers"].get(extra, "")
        trailer = trailer.replace("TITLE", self._titles[sentence.mentions[0].entity])
        return "".join(pieces) + trailer, text

    def _link(self, surface: str, entity: Entity) -> str:
        """Return a link with the text `surface` in the next style."""
        style = next(self._link_styles)
        title = self._titles[entity]
        if alias := self._aliases.get(style, {}).get(entity):
            return f"[[{alias}|{surface}]]"
        if style == "plain" and capitalize_first(surface, self._language) == title:
            return f"[[{surface}]]"
        if style == "trail" and surface[-4:-2].isalpha() and self._trail.fullmatch(surface[-2:]):
            return f"[[{title}|{surface[:-2]}]]{surface[-2:]}"
        if style == "italic" and "'" not in surface:
            return f"[[{title}|''{surface}'']]"
        marked_title = title
        if self._is_right_to_left:
            marked_title = RIGHT_TO_LEFT_MARK + title
        heads = {
            "underscores": title.replace(" ", "_"),
            "fragment": f"{title}#{self._heading}",
            "colon": f":{title}",
            "lower": lower_first(title, self._language),
            "marked": marked_title,
        }
        return f"[[{heads.get(style, title)}|{surface.replace('&', '&amp;')}]]"


def _mark_direction(text: str) -> str:
    """Return a text with a mark of direction before its last character, as authors write before a full stop."""
    return f"{text[:-1]}{RIGHT_TO_LEFT_MARK}{text[-1]}"


def lower_first(title: str, language: str) -> str:
    """Return a title with a small first letter if the wiki treats the result as the same title."""
    lowered = title[:1].lower() + title[1:]
    # Some letters do not come back: the capital of a Turkish i is another letter.
    if capitalize_first(lowered, language) != title:
        return title
    return lowered


def _emphasise(pieces: list[str], before: str, after: str) -> None:
    """Wrap the first suitable word of the prose (even positions) between names (odd positions), in place."""
    for place in range(0, len(pieces), 2):
        piece = pieces[place]
        for word in _WORD.finditer(piece):
            # The characters of the names beside the word, whose links may end or begin with quotes.
            beside = ""
            if word.start() == 0 and place > 0:
                beside += pieces[place - 1][-1:]
            if word.end() == len(piece):
                beside += "".join(pieces[place + 1 : place + 2])[:1]
            # Five or six quotes in a row have another meaning.
            if "'" not in beside:
                pieces[place] = f"{piece[: word.start()]}{before}{word[0]}{after}{piece[word.end() :]}"
                return


# Share of the sentences on the page of an entity that they mention.
OWN_PAGE_SHARE = 0.4

_LEADS = {"territory": "located", "region": "part"}


def plan_articles(
    facts: Mapping[Entity, Sequence[Fact]], book: Phrasebook, sentences: int, seed: int
) -> dict[Entity, tuple[list[SampleSentence], list[SampleSentence]]]:
    """Plan one article per entity, so that all entities are mentioned about equally often.

    Args:
        facts: What may be stated about each entity.
        book: Words and names.
        sentences: Sentences of all articles; each has at least one.
        seed: Seed of the statements and their wordings.

    Returns:
        By subject, the sentences about it (the first one locates a place or defines its kind), and those about others.
    """
    random = Random(f"articles {seed} {book.language}")
    by_relation: dict[Entity, dict[str, list[Fact]]] = {}
    same_kind: dict[str, list[Entity]] = defaultdict(list)
    plans: dict[Entity, tuple[list[SampleSentence], list[SampleSentence]]] = {}
    for entity, entity_facts in facts.items():
        same_kind[entity.kind].append(entity)
        by_relation[entity] = defaultdict(list)
        for fact in entity_facts:
            by_relation[entity][fact.relation].append(fact)
        leads = [fact for fact in entity_facts if fact.relation == _LEADS.get(entity.kind) and fact.subject == entity]
        lead = Statement("define", (entity,))
        if leads:
            lead = statement_of(random.choice(leads))
        plans[entity] = ([book.say(lead, template=0)], [])
    entities = list(plans)
    # Rounds over all entities, so that their numbers of mentions differ little.
    for remaining in range(sentences - len(plans), 0, -len(plans)):
        random.shuffle(entities)
        for entity in entities[:remaining]:
            statement = _draw_statement(entity, by_relation, same_kind[entity.kind], random)
            sentence = book.say(statement, random.randrange(1_000_000))
            hosts: Sequence[Entity] = entities
            if random.random() < OWN_PAGE_SHARE:
                hosts = statement.entities
            host = random.choice(hosts)
            about_host, about_others = plans[host]
            if host in statement.entities:
                about_host.append(sentence)
            else:
                about_others.append(sentence)
    return plans


def _draw_statement(
    entity: Entity, facts: Mapping[Entity, Mapping[str, list[Fact]]], same_kind: Sequence[Entity], random: Random
) -> Statement:
    """Draw a statement that mentions the entity: first its frame, then the other entities."""
    entity_facts = facts[entity]
    frames = [
        "define",
        "several",
        *entity_facts,
        *(SHARED_FRAMES[relation] for relation in entity_facts if relation in SHARED_FRAMES),
    ]
    if "pays" in entity_facts or "speaks" in entity_facts:
        frames.append("pays_speaks")
    frame = random.choice(frames)
    if frame in entity_facts:
        return statement_of(random.choice(entity_facts[frame]))
    if frame == "several":
        similar = [other for other in random.sample(same_kind, 3) if other != entity][:2]
        if len(similar) == 2:
            return Statement("several", tuple(random.sample([entity, *similar], 3)))
    if frame in ("define", "several"):
        return Statement("define", (entity,))
    if frame == "pays_speaks":
        relation = random.choice([relation for relation in ("pays", "speaks") if relation in entity_facts])
        fact = random.choice(entity_facts[relation])
        partner_relation = {"pays": "speaks", "speaks": "pays"}[relation]
        partners = facts[fact.subject].get(partner_relation, [])
    else:
        (relation,) = (relation for relation, shared in SHARED_FRAMES.items() if shared == frame)
        fact = random.choice(entity_facts[relation])
        partners = [
            other
            for other in facts[fact.object][relation]
            if other.object == fact.object and other.subject != fact.subject
        ]
    if not partners:
        return statement_of(fact)
    return statement_of_two(fact, random.choice(partners))


@dataclass
class ArticleWriter:
    """Writes the articles of one wiki; a page's parts depend on its number, so each wiki has all of them."""

    book: Phrasebook
    site: Site
    aliases: Aliases
    facts: Mapping[Entity, Sequence[Fact]]
    """What may be stated about each entity."""
    titles_elsewhere: Mapping[str, Mapping[Entity, str]]
    random: Random

    def __post_init__(self) -> None:
        self._marker = Marker(self.book, self.aliases, self.book.headings["facts"], self.random)

    def write(
        self, subject: Entity, statements: Sequence[SampleSentence], comparisons: Sequence[SampleSentence], number: int
    ) -> WikiPage:
        """Write an article with statements about its subject and about others; its number selects its parts."""
        book = self.book
        titles = book.titles
        blocks = []
        headings = {name: f"== {heading} ==" for name, heading in book.headings.items()}
        if number % 3 == 0:
            blocks.append(self._infobox(subject))
        if number % 5 == 1:
            caption = _linked(book.note("caption", subject), titles[subject])
            file = f"{self.site.names[6]}:{subject.kind} {subject.code} map.svg"
            blocks.append(f'[[{file}|thumb|220px|{caption}<ref name="cldr" />]]')
        blocks.append(self._prose(statements[:2], subject, lead=True))
        if statements[2:]:
            blocks += (headings["facts"], self._prose(statements[2:], subject))
        if number % 7 == 2:
            blocks.append(self._table(subject))
        if comparisons:
            bullet = None
            if number % 4 == 3:
                bullet = self.random.choice("*#")
            blocks += (headings["comparison"], self._prose(comparisons, subject, bullet))
        if number % 12 == 5:
            similar = [entity for entity in titles if entity.kind == subject.kind and entity != subject]
            items = [book.note("item", entity) for entity in self.random.sample(similar, min(2, len(similar)))]
            blocks += (headings["see_also"], self._prose(items, subject, self.random.choice("*#")))
        if number % 40 == 7:
            # A sentence that shows wiki syntax, which is not a link.
            before, _, after = book.notes["markup"].partition("{X}")
            blocks.append(f"{before}<nowiki>[[{titles[subject]}]]</nowiki>{after}")
        blocks.append(self._foot(subject, number))
        return WikiPage(titles[subject], "\n\n".join(blocks))

    def _table(self, subject: Entity) -> str:
        """Write a table of facts, whose links a parser must ignore."""
        titles = self.book.titles
        facts = self.facts[subject][:5]
        rows = [f"|-\n| [[{titles[fact.subject]}]] || [[{titles[fact.object]}]]\n" for fact in facts]
        head = f'{{| class="wikitable sortable"\n|+ {self.book.headings["list"]}\n! A !! B\n'
        return f"{head}{''.join(rows)}|}}"

    def _prose(
        self, sentences: Sequence[SampleSentence], subject: Entity, bullet: str | None = None, lead: bool = False
    ) -> str:
        """Write a list, or a paragraph with line breaks that parsers must ignore."""
        space = Language(self.book.language).sentence_separator
        text = ""
        for position, sentence in enumerate(sentences):
            markup, _ = self._marker.write(sentence, subject, lead and position == 0)
            separator = space
            if bullet or position % 5 == 4:
                separator = "\n"
            if position:
                text += separator
            if bullet:
                text += f"{bullet} "
            text += markup
        return text

    def _infobox(self, subject: Entity) -> str:
        """Write a template with links, a file and nested templates."""
        rows = [
            f"| name = {self.book.names[subject]}",
            f"| image = [[{self.site.names[6]}:{subject.kind} {subject.code}.svg|200px]]",
            f"| code = {{{{Code|{{{{uc:{subject.code}}}}}|kind={subject.kind}}}}}",
        ]
        for fact in self.facts[subject][:4]:
            other = fact.object
            if other == subject:
                other = fact.subject
            noun = self.book.words[other.kind]["short"]
            title = self.book.titles[other]
            rows.append(f"| {noun} = {{{{Nowrap|[[{title}]]}}}}")
        return "\n".join([f"{{{{Infobox {subject.kind}", *rows, "}}"])

    def _foot(self, subject: Entity, number: int) -> str:
        """Write the end of a page: references, navigation, categories, links to other languages."""
        # In each wiki, also the forms that all wikis understand: English names, and two ways to list references.
        category = "Category"
        if number % 2:
            category = self.site.names[14]
        sort_key = ""
        if number % 3 == 1:
            sort_key = f"|{subject.code}"
        lines = ["{{Reflist|2|refs={{{1|}}}}}"]
        if number % 4 < 2:
            lines = ["<references />"]
        lines.append(f"{{{{DEFAULTSORT:{subject.code}}}}}")
        lines.append(f"[[{category}:{self.book.words[subject.kind]['many']}{sort_key}]]")
        if number % 6 == 4:
            lines += [
                f"[[{language}:{titles[subject]}]]"
                for language, titles in self.titles_elsewhere.items()
                if subject in titles and language != self.book.language
            ][:5]
        return "\n".join(lines)


# Titles of two redirects that lead to each other; ISO 3166 reserves these codes for users.
LOOP = ("ISO 3166 QM", "ISO 3166 QN")
EMPTY = "ISO 3166 QO"
# A title without a page, to which a redirect leads.
_MISSING = "ISO 3166 QP"

_INFOBOX = '{| class="infobox"\n! {{{name|}}}\n|-\n| {{{image|}}}\n|}'


def name_aliases(entities: Sequence[Entity]) -> Aliases:
    """Return titles of redirects: one for every third entity, and one to that redirect for every sixth entity."""
    return {
        "redirect": {entity: f"{STANDARDS[entity.kind]} {entity.code}" for entity in entities[::3]},
        "double_redirect": {entity: f"{STANDARDS[entity.kind]}-{entity.code}" for entity in entities[::6]},
    }


def write_redirects(book: Phrasebook, site: Site, aliases: Aliases) -> Iterator[WikiPage]:
    """Yield redirects to pages, to redirects, to a section, to a missing page, and a loop of redirects."""
    titles = book.titles
    section = book.headings["facts"]
    single = aliases["redirect"]
    redirects = []
    for number, (entity, alias) in enumerate(single.items()):
        if entity in titles:
            target = titles[entity]
            if number % 10 == 3:
                target += f"#{section}"
            redirects.append((alias, target, number))
    for number, (entity, alias) in enumerate(aliases["double_redirect"].items()):
        if entity in titles:
            redirects.append((alias, single[entity], number))
    redirects += [(*LOOP, 0), (*LOOP[::-1], 1), (f"{_MISSING} (1)", _MISSING, 0)]
    for title, target, number in redirects:
        yield WikiPage(title, redirect_text(site, target, number), redirect=target.partition("#")[0])


def redirect_text(site: Site, target: str, number: int) -> str:
    """Return a redirect with the wiki's own keyword, or with the English one for an even number."""
    keyword = "REDIRECT"
    if number % 2:
        keyword = site.redirect_keyword
    return f"#{keyword} [[{target}]]"


def write_disambiguations(book: Phrasebook) -> Iterator[WikiPage]:
    """Yield a page for each name of several entities, and for one code of both a country and a language."""
    no_links: tuple[str, ...] = ()
    meanings = [(title, entities, no_links) for title, entities in book.ambiguous.items()]
    territories = {entity.code.upper(): entity for entity in book.titles if entity.kind == "territory"}
    titles = {*book.titles.values(), *book.ambiguous}
    for entity in book.titles:
        code = entity.code.upper()
        is_free = code in territories and capitalize_first(code, book.language) not in titles
        if entity.kind == "language" and is_free:
            # Links to a loop of redirects and to an empty page lead to no article.
            meanings.append((code, (territories[code], entity), (LOOP[0], EMPTY)))
            break
    before, _, after = book.notes["disambiguation"].partition("{X}")
    for title, entities, links in meanings:
        lines = [f"{before}'''{title}'''{after}", ""]
        lines += [f"* {_linked(book.note('item', entity), book.titles[entity])}" for entity in entities]
        lines += [f"* [[{link}]]" for link in links]
        yield WikiPage(title, "\n".join([*lines, "", "{{Disambiguation}}"]))


def _linked(note: SampleSentence, title: str) -> str:
    """Return a note with a link for its name."""
    start, end, _ = note.mentions[0]
    return f"{note.text[:start]}[[{title}|{note.text[start:end]}]]{note.text[end:]}"


def write_other_pages(book: Phrasebook, site: Site) -> Iterator[WikiPage]:
    """Yield an empty article, and pages of other namespaces with links, which parsers must ignore."""
    first = next(iter(book.titles.values()))
    message = book.notes["message"]
    talk = book.notes["talk"]
    yield WikiPage(EMPTY, "")
    for kind, words in book.words.items():
        text = f"{_INFOBOX}<noinclude>{message}</noinclude>"
        yield WikiPage(f"{site.names[10]}:Infobox {kind}", text, namespace=10)
        category = f"{site.names[14]}:{capitalize_first(words['many'], book.language)}"
        yield WikiPage(category, f"[[{first}]] {message}", namespace=14)
    yield WikiPage(f"{site.names[10]}:Fact", f"<sup>[{message}]</sup>", namespace=10)
    yield WikiPage(f"{site.names[1]}:{first}", f"{talk} [[{first}]] ~~~~", namespace=1)
    yield WikiPage(f"{site.names[4]}:{first}", f"{message} [[{first}]]", namespace=4)
