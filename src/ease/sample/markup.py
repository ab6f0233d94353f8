"""Write sentences as wikitext, with the variety of links, references and emphasis of real pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle
from random import Random
from typing import NamedTuple

from ease.io.data_files import read_data_file
from ease.sample.facts import Entity
from ease.sample.names import WikiNames
from ease.sample.phrases import Sentence
from ease.wikimedia.languages import Language
from ease.wikimedia.wikitext.article import Link
from ease.wikimedia.wikitext.link_trails import link_prefix, link_trail
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
