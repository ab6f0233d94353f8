"""Write the sample's Wikinews dumps: stories in many languages, categories and other pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from babel.dates import format_date

from ease.io.files import read_data_file
from ease.io.progress import ProgressBar
from ease.sample.dump_files import dump_name, revision_id, write_dump
from ease.sample.options import SampleNewsOptions, generate_folder
from ease.sample.pages import RIGHT_TO_LEFT_MARK, Marker, WikiPage, lower_first, redirect_text
from ease.sample.world import (
    Entity,
    Phrasebook,
    SampleSentence,
    Site,
    World,
    clean_name,
    read_site,
    read_world,
    split_template,
)
from ease.wikimedia.languages import MEWSC16_LANGUAGES, Language
from ease.wikimedia.wikitext.titles import capitalize_first

SAMPLE_NEWS_VERSION = 1
"""Raise it if the sample Wikinews changes: it is generated again."""


class Topic(NamedTuple):
    """A topic of MewsC-16 in one wiki; its sentence templates are split as by `split_template`."""

    name: str
    """The English name, as in the paper."""
    category: str
    former: str | None
    """A category that redirects to this category."""
    templates: tuple[tuple[str, ...], ...]


class NewsWords(NamedTuple):
    """The words of one wiki: names of its templates `date`, `source`, `archived` and `lead`, the sources' heading."""

    site: Site
    topics: tuple[Topic, ...]
    templates: Mapping[str, str]
    sources: str
    renamed: tuple[Topic, ...]
    """Topics whose category was renamed: in MediaWiki, and by a template."""


@cache
def read_news_words(language: str) -> NewsWords:
    """Return the words of a wiki."""
    content = read_data_file("ease.sample.news", f"templates/{language}.yml")
    wikipedia = read_site(language)
    # Only namespaces with the project's name, or with words of their own for users, differ from the Wikipedia's.
    names = dict(zip((4, 5, 2, 3), [*content["project"], *content.get("users", ())], strict=False))
    topics = tuple(
        Topic(
            name,
            entry["category"],
            entry.get("former"),
            tuple(map(split_template, entry["sentences"].splitlines())),
        )
        for name, entry in content["topics"].items()
    )
    renamed = tuple(topic for topic in topics if topic.former)
    site = replace(wikipedia, names={**wikipedia.names, **names}, project="wikinews")
    return NewsWords(site, topics, content["templates"], content["sources"], renamed)


_FIRST_DAY = date(2005, 1, 1)
_DAYS = 6900
# 11 to 19, 25 to 29 and so on: Slavic languages and Arabic use one form of the noun after these numbers.
_NUMBERS = tuple(str(tens + ones) for tens in (10, 20, 30, 40) for ones in range(5 if tens > 10 else 1, 10))


def _write_day(day: date, style: Literal["full", "long"], language: str) -> str:
    """Write a date as CLDR does, with plain spaces as in titles."""
    return clean_name(format_date(day, style, locale=language))


PLAIN_CASE = "plain"
CASES: dict[str, str | None] = read_data_file("ease.sample.news", "cases.yml")
"""Special cases of articles, with the reason why a parser must drop the article, or None."""


@dataclass(frozen=True)
class NewsPage(WikiPage):
    """A page of a dump, with its expected topic and first sentence, or the reason why it is dropped."""

    case: str = PLAIN_CASE
    topic: str | None = None
    dropped: str | None = None
    first_sentence: str | None = None


class Story(NamedTuple):
    """News from a territory: two to four sentences about one topic."""

    topic: Topic
    territory: Entity
    day: date
    title: str
    sentences: tuple[SampleSentence, ...]


class NewsWriter:
    """Writes the articles of one wiki; the parts of a plain page depend on its number."""

    def __init__(self, book: Phrasebook, words: NewsWords, world: World, random: Random) -> None:
        self._book = book
        self._words = words
        self._random = random
        self._category = words.site.names[14]
        self._marker = Marker(book, {}, words.sources, random)
        self._last_title = ""
        # Titles and first sentences of the articles so far.
        self._texts: set[str] = set()
        self._territories = [e for e in world.entities if e.kind == "territory" and e in book.names]
        # Currencies and languages by slot and territory.
        self._values: dict[tuple[str, Entity], list[Entity]] = defaultdict(list)
        for fact in world.facts:
            slot = {"pays": "C", "speaks": "L"}.get(fact.relation)
            if slot and fact.object in book.names:
                self._values[slot, fact.subject].append(fact.object)

    def write(self, topic: Topic, case: str, number: int) -> NewsPage:
        """Write the article of a number in the wiki; `case` is one of `CASES`, or `PLAIN_CASE`."""
        story = self._draw_new(topic)
        sentences = [self._marker.write(sentence) for sentence in story.sentences]
        blocks = []
        if case != "empty":
            blocks += self._head(story, case, number)
            blocks += self._body(story, case, [markup for markup, _ in sentences])
            if case not in ("template_only", "date_only"):
                blocks += self._foot(story, case, number)
            if case == "archived":
                blocks.append(self._template("archived"))
            blocks.append("\n".join(self._categories(story, case, number)))
        text = "\n\n".join(block for block in blocks if block)
        self._last_title = story.title
        if reason := CASES.get(case):
            return NewsPage(story.title, text, case=case, dropped=reason)
        first = 0
        if case == "lead_in_template":
            # A template's content is not prose: the next sentence is the first one.
            first = 1
        _, first_sentence = sentences[first]
        return NewsPage(story.title, text, case=case, topic=story.topic.name, first_sentence=first_sentence)

    def _draw_new(self, topic: Topic) -> Story:
        """Draw a story whose title and first sentence no other article has."""
        while True:
            story = self._draw(topic)
            texts = (story.title, story.sentences[0].text)
            if self._texts.isdisjoint(texts):
                self._texts.update(texts)
                return story

    def _draw(self, topic: Topic) -> Story:
        random = self._random
        book = self._book
        territory = random.choice(self._territories)
        empty_slots = {slot for slot in ("C", "L") if (slot, territory) not in self._values}
        templates = [template for template in topic.templates if empty_slots.isdisjoint(template[1::2])]
        sentences = []
        for template in random.sample(templates, random.randint(2, min(4, len(templates)))):
            entities = {"T": territory}
            for slot in template[1::2]:
                if slot == "T2":
                    entities[slot] = random.choice([e for e in self._territories if e != territory])
                elif slot in ("C", "L"):
                    entities[slot] = random.choice(self._values[slot, territory])
            sentences.append(book.fill(template, entities, {"N": random.choice(_NUMBERS)}))
        day = _FIRST_DAY + timedelta(days=random.randrange(_DAYS))
        name = capitalize_first(book.names[territory], book.language)
        title = f"{name} – {_write_day(day, 'long', book.language)}"
        return Story(topic, territory, day, title, tuple(sentences))

    def _head(self, story: Story, case: str, number: int) -> list[str]:
        """Write what precedes the prose: a date, infoboxes, pictures."""
        language = self._book.language
        territory = story.territory
        blocks = []
        full_day = _write_day(story.day, "full", language)
        if case == "date_line":
            blocks.append(full_day)
        elif case in ("date_line_bold", "date_only"):
            blocks.append(f"'''{full_day}'''")
        elif number % 3 == 0 and case != "date_line_break":
            day = _write_day(story.day, "long", language)
            blocks.append(self._template("date", f"|{day}"))
        if number % 5 == 2:
            name = self._book.names[territory]
            blocks.append(f"{{{{Infobox\n| name = {name}\n| code = {{{{Code|{territory.code}}}}}\n}}}}")
        if number % 4 == 1:
            caption = self._book.note("caption", territory).text
            blocks.append(f"[[{self._words.site.names[6]}:{territory.code}.svg|thumb|200px|{caption}]]")
        return blocks

    def _body(self, story: Story, case: str, prose: Sequence[str]) -> list[str]:
        """Write the prose in one or two paragraphs; a template may hide a part or all of it."""
        space = Language(self._book.language).sentence_separator
        if case == "date_only":
            return []
        if case in ("template_only", "lead_in_template"):
            hidden = len(prose)
            if case == "lead_in_template":
                hidden = 1
            return [self._template("lead", f"|1={space.join(prose[:hidden])}"), space.join(prose[hidden:])]
        first = space.join(prose[:2])
        rest = space.join(prose[2:])
        if case == "date_line_break":
            first = f"{_write_day(story.day, 'full', self._book.language)}<br />{first}"
        return [first, rest]

    def _foot(self, story: Story, case: str, number: int) -> list[str]:
        """Write what follows the prose: related news, sources."""
        blocks = []
        related = []
        if number % 3 == 1 and self._last_title:
            related.append(f"* [[{self._last_title}]]")
        other_category = self._link(self._next_topic(story).category)
        if case == "linked_category":
            related.append(f"* {other_category.replace('[[', '[[:')}")
        if related:
            blocks.append("\n".join([f"== {self._book.headings['see_also']} ==", *related]))
        address = f"https://www.example.org/{story.day:%Y/%m/%d}/{number}"
        day = _write_day(story.day, "long", self._book.language)
        source = self._template("source", f"|url={address}|title={story.title}|date={day}")
        sources = [f"* {source}", f"* [{address} {story.title}]"]
        blocks.append("\n".join([f"== {self._words.sources} ==", *sources[: 1 + number % 2]]))
        if case == "hidden_categories":
            blocks.append(f"<!-- {other_category} -->\n<nowiki>{other_category}</nowiki>")
        return blocks

    def _categories(self, story: Story, case: str, number: int) -> list[str]:
        """Write the links to the place's category and, in the form of the case, to the topics'."""
        prefix = self._category
        language = self._book.language
        name = story.topic.category
        former = self._link(story.topic.former or "")
        mark = "\u200e"
        if Language(language).is_right_to_left:
            mark = RIGHT_TO_LEFT_MARK
        # The English prefix if the wiki's own has no capital.
        lower = prefix.lower()
        if lower == prefix:
            lower = "category"
        # MediaWiki ignores underscores around a name.
        underscores = f"_{name}_"
        if " " in name:
            underscores = name.replace(" ", "_")
        links = {
            "no_topic": [],
            "category_loop": [self._link(loop_categories(self._words)[0])],
            "two_topics": [self._link(name), self._link(self._next_topic(story).category)],
            "former_category": [former],
            "former_category_template": [former],
            "topic_and_former": [self._link(name), former],
            "sort_key": [f"[[{prefix}:{name}|{name[::-1]}]]"],
            "lower_prefix": [f"[[{lower}:{lower_first(name, language)}]]"],
            "english_prefix": [f"[[Category:{name}]]"],
            "underscores": [f"[[{prefix}:{underscores}]]"],
            "spaces": [f"[[ {prefix} :  {name} ]]"],
            "direction_mark": [f"[[{prefix}:{name}{mark}]]"],
        }.get(case, [self._link(name)])
        place = self._link(self._book.names[story.territory])
        if number % 2 or not links:
            return [place, *links]
        return [*links, place]

    def _template(self, name: str, arguments: str = "") -> str:
        return f"{{{{{self._words.templates[name]}{arguments}}}}}"

    def _link(self, category: str) -> str:
        return f"[[{self._category}:{category}]]"

    def _next_topic(self, story: Story) -> Topic:
        topics = self._words.topics
        return topics[(topics.index(story.topic) + 1) % len(topics)]


def loop_categories(words: NewsWords) -> tuple[str, str]:
    """Return names of two categories that redirect to each other."""
    former = words.renamed[0].former
    return f"{former} (1)", f"{former} (2)"


def write_other_news_pages(book: Phrasebook, words: NewsWords, titles: Sequence[str]) -> Iterator[NewsPage]:
    """Yield redirects to articles, and pages of other namespaces that are in topics' categories but are not news.

    These include the topics' categories (the second below the first), redirects from former names, and a loop of
    redirects.
    """
    site = words.site
    message = book.notes["message"]
    first = words.topics[0].category
    prefix = site.names[14]
    link = f"[[{prefix}:{first}]]"

    def page(namespace: int, name: str | None, text: str, case: str, redirect: str | None = None) -> NewsPage:
        title = f"{site.names[namespace]}:{name}"
        return NewsPage(title, text, namespace, redirect, case=case, dropped="other namespace")

    def category_redirect(name: str | None, category: str) -> NewsPage:
        target = f"{prefix}:{category}"
        return page(14, name, f"#{site.redirect_keyword} [[:{target}]]", "category_redirect", target)

    for number, title in enumerate(titles):
        text = f"{redirect_text(site, title, number)}\n\n{link}"
        yield NewsPage(f"{title} (2)", text, redirect=title, case="redirect", dropped="redirect")
    for number, topic in enumerate(words.topics):
        parent = site.names[4]
        if number == 1:
            parent = first
        yield page(14, topic.category, f"{message}\n\n[[{prefix}:{parent}]]", "category")
    by_redirect, by_template = words.renamed
    text = f"{{{{Category redirect|{by_template.category}}}}}"
    yield category_redirect(by_redirect.former, by_redirect.category)
    yield page(14, by_template.former, text, "category_redirect")
    loop_start, loop_end = loop_categories(words)
    yield category_redirect(loop_start, loop_end)
    yield category_redirect(loop_end, loop_start)
    for title in titles:
        yield page(1, title, f"{book.notes['talk']} [[{title}]] ~~~~\n\n{link}", "talk")
    yield page(4, first, f"{message}\n\n{link}", "project")
    for name in words.templates.values():
        text = f"<noinclude>{message}</noinclude><includeonly>{{{{{{1|}}}}}}{link}</includeonly>"
        yield page(10, name, text, "template")


# Articles of the last topic of a wiki; a class of MewsC-16 needs ten.
SMALL_CLASS = 6
_TERRITORIES = 243
# One of this many articles is of each case.
_ARTICLES_PER_CASE = 50
_TEXTS = ("title", "case", "topic", "dropped", "first_sentence")
_TRUTH = pa.schema(
    [
        ("language", pa.string()),
        ("page_id", pa.int64()),
        ("revision_id", pa.int64()),
        ("namespace", pa.int32()),
        *((name, pa.string()) for name in _TEXTS),
    ]
)


class SampleNews:
    """Paths of a sample Wikinews in its folder.

    Attributes:
        wikinews: Folder of the Wikinews dumps.
        truth: Expected result for each page of the dumps: language, page_id, revision_id, namespace, title, case; topic
            (in English) and first_sentence, or why the page is dropped. Small classes are not dropped here.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wikinews = folder / "wikinews"
        self.truth = folder / "news_truth.parquet"


def write_sample_news(
    folder: Path, languages: Sequence[str] = MEWSC16_LANGUAGES, options: SampleNewsOptions | None = None
) -> SampleNews:
    """Write the sample Wikinews into a subfolder named by a hash of its parameters.

    Args:
        folder: Parent folder of samples; created if missing.
        languages: Wikis to write, out of the 16 of MewsC-16 (appendix E of the paper).
        options: Size and seed.

    Raises:
        EaseError: A language has no templates, or the folder is not writable.
    """
    options = options or SampleNewsOptions()
    write = partial(_write_files, languages=sorted(languages), options=options)
    sample_folder = generate_folder(
        folder, "sample-news", languages, MEWSC16_LANGUAGES, options, SAMPLE_NEWS_VERSION, write
    )
    return SampleNews(sample_folder)


def _write_files(folder: Path, languages: Sequence[str], options: SampleNewsOptions) -> None:
    files = SampleNews(folder)
    files.wikinews.mkdir()
    world = read_world(_TERRITORIES)
    truth: list[dict[str, Any]] = []
    for language in ProgressBar(languages, desc="sample Wikinews", unit="wiki", leave=True):
        pages = write_news_pages(language, world, options)
        site = read_news_words(language).site
        path = files.wikinews / dump_name(language, site.project)
        write_dump(path, site, pages)
        for page_id, page in enumerate(pages, start=1):
            ids = {"language": language, "page_id": page_id, "revision_id": revision_id(language, page_id)}
            truth.append({**ids, **vars(page)})
    pq.write_table(pa.Table.from_pylist(truth, schema=_TRUTH), files.truth)


def write_news_pages(language: str, world: World, options: SampleNewsOptions) -> list[NewsPage]:
    """Return all pages of one wiki in the order of its dump; each special case is equally frequent."""
    random = Random(f"news {options.seed} {language}")
    words = read_news_words(language)
    book = Phrasebook(language, world.entities)
    # The last topic stays small, the others are equally frequent.
    *topics, small_topic = words.topics
    renamed, renamed_by_template = words.renamed
    choices = {
        "former_category": [renamed],
        "topic_and_former": [renamed],
        "former_category_template": [renamed_by_template],
        "underscores": [topic for topic in topics if " " in topic.category] or topics,
    }
    special = [case for case in CASES for _ in range(max(1, options.news_per_language // _ARTICLES_PER_CASE))]
    plain = options.news_per_language - len(special) - SMALL_CLASS
    cases = [*enumerate(special), *enumerate([PLAIN_CASE] * plain)]
    articles = []
    for number, case in cases:
        candidates = choices.get(case, topics)
        articles.append((case, candidates[number % len(candidates)]))
    articles += [(PLAIN_CASE, small_topic)] * SMALL_CLASS
    writer = NewsWriter(book, words, world, random)
    pages = [writer.write(topic, case, number) for number, (case, topic) in enumerate(articles)]
    pages += write_other_news_pages(book, words, [page.title for page in pages[:: len(CASES)]])
    random.shuffle(pages)
    return pages
