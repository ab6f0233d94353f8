"""The first sentence of a news article (appendix E of the paper), in clean text."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from ease.wikimedia.wikinews.date_lines import DateLines
from ease.wikimedia.wikitext.article import Article, Link, split_article
from ease.wikimedia.wikitext.parser import parse_wikitext
from ease.wikimedia.wikitext.sentences import SentenceSplitter, SplitterEngine
from ease.wikimedia.wikitext.titles import SiteInfo, normalize_title

_ASIDE = "\ue000"
"""Of Unicode's private use: stands in a line that is no paragraph while the page is parsed."""
_ITEM_OR_HEADING = re.compile(r"^([*#:;]++(?![ \t]*+\{\|)|=++)", re.MULTILINE)
_TEMPLATE = re.compile(r"\{\{([^{}|]++)\|([^{}]*+)\}\}")
_TAG = re.compile(r"<[^<>]*+>")
_LONGEST_DATE_LINE = 200
"""Characters of wikitext."""
_AFTER_MARKUP = ("", ">", "}", "]", "=")
"""Last characters of a line after which a paragraph begins: of an empty one, or of a template, an image, a heading."""


class FirstSentences:
    """Finds first sentences of the articles of one wiki."""

    def __init__(self, site: SiteInfo, engine: SplitterEngine, shown: Sequence[str] = ()) -> None:
        """Prepare the rules of the wiki's language.

        Args:
            site: The wiki.
            engine: What splits sentences.
            shown: Templates that stand for their second argument or else their first, as `{{w|Lima|the city}}` links to
                Wikipedia; what others write is not seen.
        """
        self._site = site
        self._shown = frozenset(normalize_title(name, site) for name in shown)
        self._splitter = SentenceSplitter(site.language, engine)
        self._dates = DateLines(site.language)

    def find(self, source: str) -> str | None:
        """The first sentence of running prose, on one line; None where there is none.

        Headings and lists are passed over, as the papers' tool does, and so is a line that holds a date, or a place
        and a date, alone; a date at the head of a paragraph stays in its sentence.
        """
        for paragraph in self._paragraphs(source):
            for sentence in self._sentences(paragraph):
                if not self._dates.is_date(sentence):
                    return sentence
        return None

    def _paragraphs(self, source: str) -> Iterator[Article]:
        """The paragraphs of a page one by one, with the links in them."""
        source = _TEMPLATE.sub(self._show, source.replace(_ASIDE, ""))
        marked = _ITEM_OR_HEADING.sub(rf"\1{_ASIDE}", self._set_dates_apart(source))
        article = parse_wikitext(marked, self._site)
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

    def _show(self, template: re.Match[str]) -> str:
        """What a template stands for, or the template as it is."""
        if normalize_title(template[1], self._site) not in self._shown:
            return template[0]
        words = [words.strip() for words in template[2].split("|") if "=" not in words]
        return next((shown for shown in (*words[1:2], *words[:1]) if shown), "")

    def _set_dates_apart(self, source: str) -> str:
        """End the paragraph behind a line of wikitext that begins one and is a date: the next line would join it."""
        lines: list[str] = []
        before = ""
        for line in source.split("\n"):
            lines.append(line)
            text = line.strip()
            if (
                0 < len(text) <= _LONGEST_DATE_LINE
                and before[-1:] in _AFTER_MARKUP
                and self._is_date_line(text)
            ):
                lines.append("")
                text = ""
            before = text
        return "\n".join(lines)

    def _is_date_line(self, line: str) -> bool:
        text = _TAG.sub("", line)
        numbered = any(map(str.isdigit, text))
        return numbered and (self._dates.is_date(text) or self._dates.is_place_and_date(text))

    def _sentences(self, paragraph: Article) -> list[str]:
        """The sentences of a paragraph; a boundary inside a date ("3. Mai") is none."""
        sentences: list[str] = []
        end = 0
        for sentence in split_article(paragraph, self._splitter)[0]:
            if sentences and self._dates.is_inside_date(sentences[-1], sentence.text):
                sentences[-1] += paragraph.text[end : sentence.end]
            else:
                sentences.append(sentence.text)
            end = sentence.end
        return sentences
