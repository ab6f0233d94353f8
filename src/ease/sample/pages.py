"""Pages of a wiki: articles with the markup around their prose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from ease.sample.articles import ArticlePlan
from ease.sample.facts import Entity, Fact
from ease.sample.markup import Aliases, ExpectedSentence, Marker
from ease.sample.phrases import Phrasebook, Sentence
from ease.sample.site import Site
from ease.wikimedia.languages import Language


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
