"""Write the articles of a sample Wikinews, with the cases that a parser must handle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from ease.io.data_files import read_data_file
from ease.sample.markup import RIGHT_TO_LEFT_MARK, Aliases, Marker, lower_first
from ease.sample.news.stories import Story, write_day
from ease.sample.news.words import NewsWords, Topic
from ease.sample.pages import WikiPage
from ease.sample.phrases import Phrasebook
from ease.wikimedia.languages import Language

PLAIN = "plain"
CASES: dict[str, str | None] = read_data_file("ease.sample.news", "cases.yml")
"""Special cases of articles, with the reason why a parser must drop the article, or None."""

_LEFT_TO_RIGHT_MARK = "\u200e"


@dataclass(frozen=True)
class NewsPage:
    """A page of a dump, with its expected topic and first sentence, or the reason why it is dropped."""

    page: WikiPage
    case: str
    topic: str | None = None
    dropped: str | None = None
    first_sentence: str | None = None


def topics_for(case: str, words: NewsWords) -> Sequence[Topic]:
    """Return the topics for articles of a case, without the wiki's last topic, which stays small."""
    topics = words.topics[:-1]
    if case in ("former_category", "topic_and_former", "former_category_template"):
        return [words.renamed[case == "former_category_template"]]
    if case == "underscores":
        return [topic for topic in topics if " " in topic.category] or topics
    return topics


def loop_categories(words: NewsWords) -> tuple[str, str]:
    """Return names of two categories that redirect to each other."""
    former = words.renamed[0].former
    return f"{former} (1)", f"{former} (2)"


class NewsWriter:
    """Writes the articles of one wiki; the parts of a plain page depend on its number."""

    def __init__(self, book: Phrasebook, words: NewsWords, random: Random) -> None:
        self._book, self._words, self._random = book, words, random
        self._category = words.site.names[14]
        self._marker = Marker(book.wiki, Aliases({}, {}), words.sources, random)
        self._last_title = ""

    def write(self, story: Story, case: str, number: int) -> NewsPage:
        """Write the article of a number in the wiki; `case` is one of `CASES`, or `PLAIN`."""
        written = [self._marker.write(sentence) for sentence in story.sentences]
        prose = [markup for markup, _ in written]
        text = "" if case == "empty" else self._text(story, case, number, prose)
        self._last_title = story.title
        if dropped := CASES.get(case):
            return NewsPage(WikiPage(story.title, text), case, dropped=dropped)
        # A template's content is not prose: the next sentence is the first one.
        _, first = written[1 if case == "lead_in_template" else 0]
        return NewsPage(WikiPage(story.title, text), case, story.topic.name, None, first.text)

    def _text(self, story: Story, case: str, number: int, prose: Sequence[str]) -> str:
        blocks = [*self._head(story, case, number), *self._body(story, case, prose)]
        if case not in ("template_only", "date_only"):
            blocks += self._foot(story, case, number)
        if case == "archived":
            blocks.append(f"{{{{{self._words.templates['archived']}}}}}")
        blocks.append("\n".join(self._categories(story, case, number)))
        return "\n\n".join(block for block in blocks if block)

    def _head(self, story: Story, case: str, number: int) -> list[str]:
        """Write what precedes the prose: a date, infoboxes, pictures."""
        templates, language = self._words.templates, self._book.language
        blocks = []
        if case in ("date_line", "date_line_bold", "date_only"):
            quotes = "" if case == "date_line" else "'''"
            blocks.append(f"{quotes}{write_day(story.day, 'full', language)}{quotes}")
        elif number % 3 == 0 and case != "date_line_break":
            blocks.append(f"{{{{{templates['date']}|{write_day(story.day, 'long', language)}}}}}")
        if number % 5 == 2:
            name = self._book.wiki.names[story.territory]
            blocks.append(f"{{{{Infobox\n| name = {name}\n| code = {{{{Code|{story.territory.code}}}}}\n}}}}")
        if number % 4 == 1:
            caption = self._book.note("caption", story.territory).text
            file = f"{self._words.site.names[6]}:{story.territory.code}.svg"
            blocks.append(f"[[{file}|thumb|200px|{caption}]]")
        return blocks

    def _body(self, story: Story, case: str, prose: Sequence[str]) -> list[str]:
        """Write the prose in one or two paragraphs; a template may hide a part or all of it."""
        space = Language(self._book.language).sentence_separator
        lead = self._words.templates["lead"]
        if case == "date_only":
            return []
        if case == "template_only":
            return [f"{{{{{lead}|1={space.join(prose)}}}}}"]
        if case == "lead_in_template":
            return [f"{{{{{lead}|1={prose[0]}}}}}", space.join(prose[1:])]
        first, rest = space.join(prose[:2]), space.join(prose[2:])
        if case == "date_line_break":
            first = f"{write_day(story.day, 'full', self._book.language)}<br />{first}"
        return [first, rest]

    def _foot(self, story: Story, case: str, number: int) -> list[str]:
        """Write what follows the prose: related news, sources."""
        blocks, items = [], []
        if number % 3 == 1 and self._last_title:
            items.append(f"* [[{self._last_title}]]")
        if case == "linked_category":
            items.append(f"* [[:{self._category}:{self._other(story).category}]]")
        if items:
            blocks.append("\n".join([f"== {self._book.headings['see_also']} ==", *items]))
        address = f"https://www.example.org/{story.day:%Y/%m/%d}/{number}"
        day = write_day(story.day, "long", self._book.language)
        source = f"{{{{{self._words.templates['source']}|url={address}|title={story.title}|date={day}}}}}"
        items = [f"* {source}", f"* [{address} {story.title}]"]
        blocks.append("\n".join([f"== {self._words.sources} ==", *items[: 1 + number % 2]]))
        if case == "hidden_categories":
            hidden = f"[[{self._category}:{self._other(story).category}]]"
            blocks.append(f"<!-- {hidden} -->\n<nowiki>{hidden}</nowiki>")
        return blocks

    def _categories(self, story: Story, case: str, number: int) -> list[str]:
        topic = story.topic
        links = {
            "no_topic": [],
            "category_loop": [self._link(loop_categories(self._words)[0])],
            "two_topics": [self._link(topic.category), self._link(self._other(story).category)],
            "former_category": [self._link(topic.former or "")],
            "former_category_template": [self._link(topic.former or "")],
            "topic_and_former": [self._link(topic.category), self._link(topic.former or "")],
        }.get(case, [self._topic_link(topic, case)])
        place = self._link(self._book.wiki.names[story.territory])
        return [place, *links] if number % 2 or not links else [*links, place]

    def _link(self, category: str) -> str:
        return f"[[{self._category}:{category}]]"

    def _topic_link(self, topic: Topic, case: str) -> str:
        """Write the topic's category in the form of the case."""
        prefix, name, language = self._category, topic.category, self._book.language
        match case:
            case "sort_key":
                return f"[[{prefix}:{name}|{name[::-1]}]]"
            case "lower_prefix":  # use the English prefix if the wiki's own has no capital
                lower = prefix.lower() if prefix.lower() != prefix else "category"
                return f"[[{lower}:{lower_first(name, language)}]]"
            case "english_prefix":
                return f"[[Category:{name}]]"
            case "underscores":
                return f"[[{prefix}:{name.replace(' ', '_') if ' ' in name else f'_{name}_'}]]"
            case "spaces":
                return f"[[ {prefix} :  {name} ]]"
            case "direction_mark":
                mark = RIGHT_TO_LEFT_MARK if Language(language).is_right_to_left else _LEFT_TO_RIGHT_MARK
                return f"[[{prefix}:{name}{mark}]]"
        return self._link(name)

    def _other(self, story: Story) -> Topic:
        """Return another topic than the story's own."""
        topics = self._words.topics
        return topics[(topics.index(story.topic) + 1) % len(topics)]
