"""Find the first sentence of a news article in clean text (appendix E of the paper)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from ease.wikimedia.wikinews.abbreviations import Abbreviations
from ease.wikimedia.wikinews.date_lines import DateLines
from ease.wikimedia.wikitext.article import Article, Link, split_article
from ease.wikimedia.wikitext.parser import parse_wikitext
from ease.wikimedia.wikitext.sentences import SentenceSplitter, SplitterEngine
from ease.wikimedia.wikitext.titles import SiteInfo, normalize_title

_ASIDE = "\ue000"
"""Private-use character that marks the lines that are not paragraphs while a page is parsed."""
_ITEM_OR_HEADING = re.compile(r"^([*#:;]++(?![ \t]*+\{\|)|=++)", re.MULTILINE)
_TEMPLATE = re.compile(r"\{\{([^{}|]++)\|([^{}]*+)\}\}")
_TAG = re.compile(r"<[^<>]*+>")
_LONGEST_DATE_LINE = 200
"""In characters of wikitext."""
_AFTER_MARKUP = ("", ">", "}", "]", "=")
"""Last characters of a line after which a paragraph starts: an empty line, a template, an image or a heading."""


class FirstSentences:
    """Finds the first sentences of the articles of one wiki."""

    def __init__(
        self,
        site: SiteInfo,
        engine: SplitterEngine,
        shown: Sequence[str] = (),
        join_abbreviations: bool = False,
    ) -> None:
        """Prepare the rules of the wiki's language.

        Args:
            site: The wiki.
            engine: Sentence splitter.
            shown: Templates whose text is their second argument or else their first, such as `{{w|Lima|the city}}`,
                which links to Wikipedia. Other templates are removed.
            join_abbreviations: Continue a sentence after an abbreviation: "George W. | Bush".
        """
        self._site = site
        self._shown = frozenset(normalize_title(name, site) for name in shown)
        self._splitter = SentenceSplitter(site.language, engine)
        self._dates = DateLines(site.language)
        self._abbreviations = Abbreviations(site.language) if join_abbreviations else None

    def find(self, source: str) -> str | None:
        """Return the first sentence of running prose, on one line; None if there is no prose.

        Skips headings and lists, as the paper's tool does, and lines with only a date, or a place and a date. A date at
        the start of a paragraph stays in its sentence.
        """
        for paragraph in self._paragraphs(source):
            for sentence in self._sentences(paragraph):
                if not self._dates.is_date(sentence):
                    return sentence
        return None

    def _paragraphs(self, source: str) -> Iterator[Article]:
        """Yield the paragraphs of a page with their links."""

        def show(template: re.Match[str]) -> str:
            """Return a template's text, or the template unchanged."""
            if normalize_title(template[1], self._site) not in self._shown:
                return template[0]
            words = [words.strip() for words in template[2].split("|") if "=" not in words]
            return next((shown for shown in (*words[1:2], *words[:1]) if shown), "")

        source = _TEMPLATE.sub(show, source.replace(_ASIDE, ""))
        marked = _ITEM_OR_HEADING.sub(rf"\1{_ASIDE}", self._set_dates_apart(source))
        # The published data set lacks the words of all templates.
        article = parse_wikitext(marked, self._site, show=self._abbreviations is not None)
        starts = [link.start for link in article.links]
        start = 0
        for line in article.text.split("\n"):
            end = start + len(line)
            if _ASIDE not in line and not self._dates.is_place_and_date(line):
                links = article.links[bisect_left(starts, start) : bisect_left(starts, end)]
                inside = [link for link in links if link.end <= end]
                yield Article(
                    line, [Link(link.start - start, link.end - start, link.target) for link in inside]
                )
            start = end + 1

    def _set_dates_apart(self, source: str) -> str:
        """Add an empty line after a date line that starts a paragraph, so that the next line does not join it."""
        lines: list[str] = []
        before = ""
        for line in source.split("\n"):
            lines.append(line)
            text = line.strip()
            if 0 < len(text) <= _LONGEST_DATE_LINE and before[-1:] in _AFTER_MARKUP:
                words = _TAG.sub("", text)
                dated = any(map(str.isdigit, words))
                if dated and (self._dates.is_date(words) or self._dates.is_place_and_date(words)):
                    lines.append("")
                    text = ""
            before = text
        return "\n".join(lines)

    def _sentences(self, paragraph: Article) -> list[str]:
        """Return the sentences of a paragraph; boundaries inside dates ("3. Mai") and abbreviations are ignored."""
        sentences: list[str] = []
        end = 0
        for sentence in split_article(paragraph, self._splitter)[0]:
            if sentences and self._is_continued(sentences[-1], sentence.text):
                sentences[-1] += paragraph.text[end : sentence.end]
            else:
                sentences.append(sentence.text)
            end = sentence.end
        return sentences

    def _is_continued(self, before: str, after: str) -> bool:
        """Whether the boundary between two sentences is inside a date or after an abbreviation."""
        if self._abbreviations is not None and self._abbreviations.ends(before):
            return True
        return self._dates.is_inside_date(before, after)
