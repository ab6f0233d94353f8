"""Write sentences as wikitext, with the variety of links, references and emphasis of real pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle
from random import Random
from typing import NamedTuple

from ease.sample.facts import Entity
from ease.sample.names import WikiNames
from ease.sample.phrases import Sentence
from ease.wikimedia.languages import Language
from ease.wikimedia.wikitext.link_trails import link_prefix, link_trail
from ease.wikimedia.wikitext.titles import capitalize_first

RIGHT_TO_LEFT_MARK = "\u200f"

_LINK_STYLES = (
    *("plain", "plain", "plain", "piped", "plain", "underscores", "plain", "fragment", "plain", "redirect"),
    *("plain", "lower", "trail", "plain", "colon", "plain", "double_redirect", "italic", "marked"),
)
_EXTRAS = (
    *("", "", "reference", "", "italic", "", "repeated_reference", "", "", "comment", "", "nowiki", ""),
    *("template", "", "bold", "", "", "direction", "long_reference"),
)
_WORD = re.compile(r"(?<![\w'])[^\W\d_]{3,}(?![\w'\u0300-\u036f\u064b-\u0670\u200c])")


class ExpectedLink(NamedTuple):
    """A link that a parser should find: offsets in its sentence, and its title."""

    start: int
    end: int
    target: str


class ExpectedSentence(NamedTuple):
    """A sentence or heading that a parser should find."""

    text: str
    links: tuple[ExpectedLink, ...] = ()


@dataclass(frozen=True)
class Aliases:
    """Titles of redirects by their target; `double` redirects lead there through another redirect."""

    single: Mapping[Entity, str]
    double: Mapping[Entity, str]


class Marker:
    """Writes sentences as wikitext; styles rotate, so that each occurs in every wiki."""

    def __init__(self, wiki: WikiNames, aliases: Aliases, heading: str, random: Random) -> None:
        """Prepare for a wiki.

        Args:
            wiki: Names and titles of the entities.
            aliases: Redirects that links may use.
            heading: Heading for links to a section.
            random: Shuffles the styles, so that wikis differ.
        """
        self._wiki = wiki
        self._aliases = aliases
        self._heading = heading
        self._link_styles = cycle(random.sample(_LINK_STYLES, len(_LINK_STYLES)))
        self._extras = cycle(random.sample(_EXTRAS, len(_EXTRAS)))
        self._trail = re.compile(link_trail(wiki.language))
        self._prefix = re.compile(link_prefix(wiki.language) or "")

    def write(
        self, sentence: Sentence, subject: Entity | None = None, lead: bool = False
    ) -> tuple[str, ExpectedSentence]:
        """Return a sentence as wikitext, and the expected result of parsing the wikitext.

        Args:
            sentence: The prose.
            subject: The page's subject, which the page does not link.
            lead: Whether the sentence is the page's first one, with the subject in bold.
        """
        extra = next(self._extras)
        pieces: list[str] = []
        links: list[ExpectedLink] = []
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
                links.append(ExpectedLink(start - (joined.end() if joined else 0), end, target))
            position = end
        pieces.append(sentence.text[position:])
        text = sentence.text
        if extra == "direction" and Language(self._wiki.language).is_right_to_left:
            pieces[-1] = _insert_before_end(pieces[-1])
            text = _insert_before_end(text)
        _emphasise(pieces, extra)
        return "".join(pieces) + self._trailer(extra, sentence), ExpectedSentence(text, tuple(links))

    def link(self, surface: str, entity: Entity) -> tuple[str, str]:
        """Return a link with the text `surface` in the next style, and the title of its target."""
        style, title = next(self._link_styles), self._wiki.titles[entity]
        if alias := self._alias(style, entity):
            return f"[[{alias}|{surface}]]", alias
        if style == "plain" and capitalize_first(surface, self._wiki.language) == title:
            return f"[[{surface}]]", title
        if style == "trail" and surface[-4:-2].isalpha() and self._trail.fullmatch(surface[-2:]):
            return f"[[{title}|{surface[:-2]}]]{surface[-2:]}", title
        if style == "italic" and "'" not in surface:
            return f"[[{title}|''{surface}'']]", title
        return f"[[{self._head(style, title)}|{surface.replace('&', '&amp;')}]]", title

    def _alias(self, style: str, entity: Entity) -> str | None:
        """Return the redirect for a link in this style, if any."""
        aliases = {"redirect": self._aliases.single, "double_redirect": self._aliases.double}
        return aliases[style].get(entity) if style in aliases else None

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

    def _trailer(self, extra: str, sentence: Sentence) -> str:
        """Return the markup after a sentence that is not prose."""
        title = self._wiki.titles[sentence.mentions[0].entity]
        match extra:
            case "reference":
                return f'<ref name="cldr">Unicode CLDR, [[{title}]].</ref>'
            case "repeated_reference":
                return '<ref name="cldr" />'
            case "comment":
                return f"<!-- [[{title}]] {{{{ -->"
            case "template":
                return f"{{{{Fact|date=2024|text={{{{lc:[[{title}]]}}}}}}}}"
            case "long_reference":
                return f"<ref>{{{{Cite web|title=[[{title}]]|url=https://cldr.unicode.org/}}}}</ref>"
        return ""


def _insert_before_end(text: str) -> str:
    return f"{text[:-1]}{RIGHT_TO_LEFT_MARK}{text[-1]}"


def lower_first(title: str, language: str) -> str:
    """Lower the first letter if the wiki treats the result as the same title."""
    lowered = title[:1].lower() + title[1:]
    return lowered if capitalize_first(lowered, language) == title else title


def _emphasise(pieces: list[str], extra: str) -> None:
    """Wrap the first suitable word outside names in italics, bold or `<nowiki>`.

    Args:
        pieces: Prose (even positions) and names (odd positions); changed in place.
        extra: `italic`, `bold` or `nowiki`; other values change nothing.
    """
    wraps = {"italic": ("''", "''"), "bold": ("'''", "'''"), "nowiki": ("<nowiki>", "</nowiki>")}
    if extra not in wraps:
        return
    before, after = wraps[extra]
    for place in range(0, len(pieces), 2):
        piece = pieces[place]
        for word in _WORD.finditer(piece):
            at_start, at_end = word.start() == 0 and place > 0, word.end() == len(piece)
            beside = pieces[place - 1][-1:] * at_start + "".join(pieces[place + 1 : place + 2])[:1] * at_end
            if "'" not in beside:  # five or six quotes in a row have another meaning
                pieces[place] = f"{piece[: word.start()]}{before}{word[0]}{after}{piece[word.end() :]}"
                return
