"""Expand templates from their own text, if it only arranges the arguments: a small part of MediaWiki's preprocessor.

Parameters, defaults, other templates, and a few parser functions are expanded, in bounded steps. Everything else, such
as Lua modules (`#invoke`), raises `UnknownOutputError`, so that no template is shown with a wrong text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from ease.wikimedia.wikitext.families import name_language
from ease.wikimedia.wikitext.markup import GAP, HOLE, hide_extensions
from ease.wikimedia.wikitext.parser_functions import evaluate_expression, format_time
from ease.wikimedia.wikitext.quantities import show_number
from ease.wikimedia.wikitext.template_arguments import Writer, make_arguments
from ease.wikimedia.wikitext.titles import SiteInfo, TargetKind, read_target

# Characters of a page that is read as a template's text.
_LONGEST_SOURCE = 200_000
LONGEST_BODY = 2000
"""Characters of the text that a template includes; longer ones are boxes."""
LONGEST_SWITCH = 20_000
"""Characters of a text that is a table of values, such as the inhabitants of each town: one `#switch`."""
# Open brackets at a place of a body.
_DEEPEST_BODY = 60
# Nodes that are expanded for one template on a page, templates inside each other, and characters that they write.
_MOST_STEPS = 2000
_DEEPEST_CALL = 10
_LONGEST_OUTPUT = 10_000

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_ONLY = re.compile(r"<onlyinclude\s*>(.*?)(?:</onlyinclude\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_NOT_INCLUDED = re.compile(r"<noinclude\b[^<>/]*>.*?(?:</noinclude\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_INCLUSION_TAG = re.compile(r"</?(?:includeonly|onlyinclude|noinclude)\b[^<>]*>", re.IGNORECASE)
_TABLE_OF_VALUES = re.compile(r"\{\{\s*#(?:switch|переключатель|выбор|تبديل|בחר|گزینه)\s*:", re.IGNORECASE)
_CASE = re.compile(r"\|\s*([^|={}\[\]#]*[^|={}\[\]#\s])\s*=")
# Marks such as [citation needed] write their brackets so that they are no link.
_LITERAL_BRACKET = re.compile(r"<nowiki\s*>\s*([\[\]])\s*</nowiki\s*>", re.IGNORECASE)
_BRACKET_ENTITIES = {"[": "&#91;", "]": "&#93;"}
_PARAMETER = re.compile(r"\{\{\{\s*+([^{}|]*[^{}|\s])")
_TOKEN = re.compile(r"\{\{+|\}\}+|\[\[|\]\]|\|")
_SUBSTITUTION = re.compile(r"(?:safesubst|subst)\s*:\s*", re.IGNORECASE)
_HIDDEN_SPAN = re.compile(
    r"<(span|small|sup|div|i|b)\b[^<>]*(?:display\s*:\s*none|visibility\s*:\s*hidden)[^<>]*>[^<>]*</\1\s*>",
    re.IGNORECASE,
)
_BOX = re.compile(r"\{\||<table\b|^[ \t]*[|!]|^==|<div\b[^<>]*class|<gallery", re.IGNORECASE | re.MULTILINE)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_SUPERSCRIPT = re.compile(r"\s*(?:<[^<>]*>\s*)*<sup\b", re.IGNORECASE)
_LINK = re.compile(r"\[\[([^\[\]|]*)[^\[\]]*\]\]")
_INVISIBLE = frozenset({TargetKind.FILE, TargetKind.CATEGORY, TargetKind.LANGUAGE})


class UnknownOutputError(Exception):
    """Raised if a template's text cannot be known."""


class Body(NamedTuple):
    """The parsed text of a template: a sequence of texts, parameters and calls."""

    nodes: tuple[str | Parameter | Call, ...]


class Parameter(NamedTuple):
    """`{{{name|default}}}`; the default is None without a bar."""

    name: Body
    default: Body | None


class Part(NamedTuple):
    """An argument of a call: all of it, and the parts around its first equals sign, if any."""

    all: Body
    name: Body | None
    value: Body


class Call(NamedTuple):
    """`{{name|argument|name=argument}}`, a template or a parser function."""

    parts: tuple[Part, ...]


class TemplateEntry(NamedTuple):
    """How a template or a parser function is shown: by a writer or its body; without either, it prints nothing."""

    writer: Writer | None
    # Characters of the name that belong to the first argument: `{{lc:A}}`.
    is_function: bool = False
    body: Body | None = None
    # A bibliographic entry, which prints nothing in a reference, but words at the beginning of a line.
    is_citation: bool = False
    # A pronunciation, which prints nothing but after a word of the sentence, as in "pronounced {{IPAc-en|…}}".
    is_sound: bool = False
    # How the template is shown where its body cannot be expanded.
    otherwise: TemplateEntry | None = None

    @property
    def is_hidden(self) -> bool:
        """Whether it prints nothing where it stands."""
        return self.writer is None and self.body is None


def included_text(source: str) -> str | None:
    """Return the text that a template's page includes in other pages; None if it is too long, or a box."""
    if len(source) > _LONGEST_SOURCE:
        return None
    text = _COMMENT.sub("", source)
    parts = _ONLY.findall(text)
    if parts:
        text = "".join(parts)
    text = _INCLUSION_TAG.sub("", _NOT_INCLUDED.sub("", text)).strip()
    text, literals = hide_extensions(_LITERAL_BRACKET.sub(lambda bracket: _BRACKET_ENTITIES[bracket[1]], text))
    text = text.replace(GAP, "").strip()
    limit = LONGEST_BODY
    if _TABLE_OF_VALUES.match(text):
        limit = LONGEST_SWITCH
    if literals or len(text) > limit or "\x03" in text:
        return None
    return text


class _Frame:
    """Brackets that are open while a body is parsed, with the parts after them."""

    def __init__(self, bracket: str, number: int) -> None:
        self.bracket = bracket
        self.number = number
        self.parts: list[list[str | Parameter | Call]] = [[]]

    def add(self, *nodes: str | Parameter | Call) -> None:
        self.parts[-1].extend(nodes)

    def as_text(self) -> list[str | Parameter | Call]:
        """Return the brackets and all parts as they are written."""
        nodes: list[str | Parameter | Call] = [self.bracket * self.number]
        for index, part in enumerate(self.parts):
            nodes += ["|"] * bool(index) + part
        return nodes


@lru_cache(maxsize=16384)
def parse_body(text: str) -> Body | None:
    """Return the nodes of a template's text; None if its brackets are nested too deep."""
    frames = [_Frame("", 0)]
    position = 0
    for token in _TOKEN.finditer(text):
        frames[-1].add(text[position : token.start()])
        position = token.end()
        if token[0][0] in "{[":
            if len(frames) > _DEEPEST_BODY:
                return None
            frames.append(_Frame(token[0][0], len(token[0])))
        elif token[0] == "|":
            if len(frames) > 1:
                frames[-1].parts.append([])
            else:
                frames[-1].add("|")
        elif token[0] == "]]":
            if frames[-1].bracket == "[":
                link = frames.pop()
                frames[-1].add(*link.as_text(), "]]")
            else:
                frames[-1].add("]]")
        else:
            _close(frames, len(token[0]))
    frames[-1].add(text[position:])
    while len(frames) > 1:
        unclosed = frames.pop()
        frames[-1].add(*unclosed.as_text())
    return _body(frames[0].parts[0])


def _close(frames: list[_Frame], number: int) -> None:
    """Close the open braces before a run of closing ones: three are a parameter, two a call."""
    while number >= 2 and frames[-1].bracket == "{":
        frame = frames.pop()
        matches = min(3, frame.number, number)
        number -= matches
        if matches == 3:
            default = None
            if len(frame.parts) > 1:
                default = _body(frame.parts[1])
            node: Parameter | Call = Parameter(_body(frame.parts[0]), default)
        else:
            node = Call(tuple(map(_part, frame.parts)))
        left = frame.number - matches
        if left >= 2:
            frames.append(_Frame("{", left))
            frames[-1].add(node)
        else:
            frames[-1].add("{" * left, node)
    frames[-1].add("}" * number)


def _body(nodes: Sequence[str | Parameter | Call]) -> Body:
    return Body(tuple(node for node in nodes if node))


def _part(nodes: list[str | Parameter | Call]) -> Part:
    for index, node in enumerate(nodes):
        if isinstance(node, str) and "=" in node:
            before, _, after = node.partition("=")
            return Part(_body(nodes), _body([*nodes[:index], before]), _body([after, *nodes[index + 1 :]]))
    return Part(_body(nodes), None, _body(nodes))


class Expansion:
    """Expands the body of one template on a page, in bounded steps."""

    def __init__(self, find: Callable[[str], TemplateEntry | None], language: str, title: str = "") -> None:
        """Begin an expansion; `find` returns the entries of templates by name, and `title` is the page's."""
        self._find = find
        self._language = language
        self._title = title
        self._steps = 0
        self._depth = 0

    def expand(self, body: Body, arguments: Mapping[str, str]) -> str:
        """Return a body with the arguments in the place of its parameters.

        Raises:
            UnknownOutputError: A part of the body is not known, or needs too many steps.
        """
        pieces: list[str] = []
        size = 0
        for node in body.nodes:
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise UnknownOutputError
            if isinstance(node, str):
                piece = node
            elif isinstance(node, Parameter):
                piece = self._parameter(node, arguments)
            else:
                piece = self._call(node, arguments)
            pieces.append(piece)
            size += len(piece)
            if size > _LONGEST_OUTPUT:
                raise UnknownOutputError
        return "".join(pieces)

    def _parameter(self, parameter: Parameter, arguments: Mapping[str, str]) -> str:
        name = self.expand(parameter.name, arguments).strip()
        if name in arguments:
            return arguments[name]
        if parameter.default is not None:
            return self.expand(parameter.default, arguments)
        # MediaWiki prints the braces of a missing argument: no author leaves them in an article.
        raise UnknownOutputError

    def _call(self, call: Call, arguments: Mapping[str, str]) -> str:
        head = call.parts[0].all
        if head.nodes and isinstance(head.nodes[0], str):
            start = _SUBSTITUTION.sub("", head.nodes[0].lstrip(), count=1)
            name, colon, rest = start.partition(":")
            function = _FUNCTIONS.get(_ALIASES.get(name.strip().lower(), name.strip().lower()))
            if colon and function:
                first = _body([rest, *head.nodes[1:]])
                return function(self, [Part(first, None, first), *call.parts[1:]], arguments)
            head = _body([start, *head.nodes[1:]])
        name = " ".join(self.expand(head, arguments).split())
        if name in _VARIABLES:
            return _VARIABLES[name]
        return self._template(name, call.parts[1:], arguments)

    def _template(self, name: str, parts: Sequence[Part], arguments: Mapping[str, str]) -> str:
        entry = self._find(name)
        if entry is None or entry.is_function or self._depth >= _DEEPEST_CALL:
            raise UnknownOutputError
        inner: dict[str, str] = {}
        place = 0
        for part in parts:
            if part.name is None:
                place += 1
                inner[str(place)] = self.expand(part.all, arguments)
            else:
                inner[self.expand(part.name, arguments).strip()] = self.expand(part.value, arguments).strip()
        return self._show(entry, inner)

    def _show(self, entry: TemplateEntry, arguments: Mapping[str, str]) -> str:
        """Return the words of a template with expanded arguments."""
        if entry.body is not None:
            depth = self._depth
            self._depth += 1
            try:
                return self.expand(entry.body, arguments)
            except UnknownOutputError:
                if entry.otherwise is None:
                    raise
                return self._show(entry.otherwise, arguments)
            finally:
                self._depth = depth
        if entry.writer is None:
            return ""
        output = entry.writer(make_arguments(arguments, self._language, self._title))
        if HOLE in output:
            raise UnknownOutputError
        return output

    def at(self, parts: Sequence[Part], place: int, arguments: Mapping[str, str]) -> str:
        """Return an argument of a parser function, expanded; empty if there is none."""
        if place < len(parts):
            return self.expand(parts[place].all, arguments).strip()
        return ""

    def if_(self, parts: Sequence[Part], arguments: Mapping[str, str]) -> str:
        """Expand `{{#if: words | then | else}}`."""
        return self.at(parts, 1 if self.at(parts, 0, arguments) else 2, arguments)

    def if_equal(self, parts: Sequence[Part], arguments: Mapping[str, str]) -> str:
        """Expand `{{#ifeq: a | b | then | else}}`."""
        is_equal = _are_equal(self.at(parts, 0, arguments), self.at(parts, 1, arguments))
        return self.at(parts, 2 if is_equal else 3, arguments)

    def switch(self, parts: Sequence[Part], arguments: Mapping[str, str]) -> str:
        """Expand `{{#switch: value | case | case = words | words of the default}}`."""
        value = self.at(parts, 0, arguments)
        matches = False
        default: Body | None = None
        is_default = False
        for index, part in enumerate(parts[1:], 2):
            case = part.name
            if case is None:
                words = self.expand(part.all, arguments).strip()
                if index == len(parts) and not matches:
                    return words
            else:
                words = self.expand(case, arguments).strip()
            matches = matches or _are_equal(words, value)
            is_default = is_default or words == "#default"
            if case is not None and matches:
                return self.expand(part.value, arguments).strip()
            if case is not None and is_default:
                default = part.value
                is_default = False
        if default is None:
            return ""
        return self.expand(default, arguments).strip()

    def format_number(self, parts: Sequence[Part], arguments: Mapping[str, str]) -> str:
        """Expand `{{formatnum: number}}`."""
        return show_number(self.at(parts, 0, arguments), self.at(parts, 1, arguments), self._language)

    def language_name(self, parts: Sequence[Part], arguments: Mapping[str, str]) -> str:
        """Expand `{{#language: code}}`."""
        code = self.at(parts, 0, arguments)
        return name_language(code.lower(), self._language) or code

    def evaluate(self, parts: Sequence[Part], arguments: Mapping[str, str]) -> str:
        """Expand `{{#expr: 1 + 2}}`."""
        return _known(evaluate_expression(self.at(parts, 0, arguments)))

    def time(self, parts: Sequence[Part], arguments: Mapping[str, str]) -> str:
        """Expand `{{#time: pattern | date | language}}`."""
        language = self.at(parts, 2, arguments) or self._language
        return _known(format_time(self.at(parts, 0, arguments), self.at(parts, 1, arguments), language))

    def tag(self, parts: Sequence[Part], arguments: Mapping[str, str]) -> str:
        """Expand `{{#tag: ref | …}}` to nothing."""
        if self.at(parts, 0, arguments).lower() in ("ref", "templatestyles", "indicator", "section"):
            return ""
        raise UnknownOutputError


def _known(output: str | None) -> str:
    if output is None:
        raise UnknownOutputError
    return output


def _are_equal(left: str, right: str) -> bool:
    if left == right:
        return True
    # As in MediaWiki, numbers are equal by value.
    with suppress(InvalidOperation):
        return Decimal(left) == Decimal(right)
    return False


_Function = Callable[[Expansion, Sequence[Part], Mapping[str, str]], str]


def _first(change: Callable[[str], str]) -> _Function:
    return lambda expansion, parts, arguments: change(expansion.at(parts, 0, arguments))


def _pad(expansion: Expansion, parts: Sequence[Part], arguments: Mapping[str, str]) -> str:
    """Expand `{{padleft: 7 | 2 | 0}}`."""
    words, width, padding = (expansion.at(parts, place, arguments) for place in range(3))
    if not width.isdecimal() or int(width) > _DEEPEST_BODY or len(padding) > 1:
        raise UnknownOutputError
    return words.rjust(int(width), padding or "0")


_FUNCTIONS: Mapping[str, _Function] = {
    "#if": Expansion.if_,
    "#ifeq": Expansion.if_equal,
    "#switch": Expansion.switch,
    "#tag": Expansion.tag,
    "#expr": Expansion.evaluate,
    "#time": Expansion.time,
    "#language": Expansion.language_name,
    "formatnum": Expansion.format_number,
    "lc": _first(str.lower),
    "uc": _first(str.upper),
    "lcfirst": _first(lambda words: words[:1].lower() + words[1:]),
    "ucfirst": _first(lambda words: words[:1].upper() + words[1:]),
    "padleft": _pad,
    "#iferror": _first(str),
    # Their output stands in attributes of tags, which are removed.
    "anchorencode": _first(str),
    "urlencode": _first(str),
    "ns": lambda expansion, parts, arguments: "",
}
_ALIASES: Mapping[str, str] = {
    **{"#если": "#if", "#еслиравно": "#ifeq", "#выбор": "#switch", "#переключатель": "#switch", "#тег": "#tag"},
    **{"#لو": "#if", "#لو_معادلة": "#ifeq", "#تبديل": "#switch", "#תנאי": "#if", "#שווה": "#ifeq", "#בחר": "#switch"},
    **{
        "#اگر": "#if",
        "#اگرمساوی": "#ifeq",
        "#گزینه": "#switch",
        "нрег": "lc",
        "врег": "uc",
        "форматчисла": "formatnum",
    },
}
"""Local names of parser functions."""
# Of templates in articles: the namespace is the main one.
_VARIABLES: Mapping[str, str] = {
    "!": "|",
    "=": "=",
    "NAMESPACE": "",
    "NAMESPACENUMBER": "0",
    "NAMESPACEE": "",
    "(": "{",
    ")": "}",
}

_PROBES: tuple[Mapping[str, str], ...] = (
    {},
    {"1": "Lima"},
    {"1": "Lima", "2": "Oslo"},
    {"1": "Lima", "2": "Oslo", "3": "Rome"},
)
"""Arguments with which a body is tried."""
PROBE_TITLE = "Lima"
"""Title of the page on which a body is tried."""
_DATE_PROBES: tuple[Mapping[str, str], ...] = ({"1": "1973-10-17"}, {"1": "1973", "2": "10", "3": "17"})
# Cases of a `#switch` with which its body is tried.
_MOST_CASES = 3
# Characters of a text that is the same for all arguments; a longer one is a notice.
_LONGEST_CONSTANT = 100


def classify_body(text: str, expand: Callable[[Body, Mapping[str, str]], str], site: SiteInfo) -> str | None:
    """Return the specification of a template's text: `hidden`, or `body: …`; None if it cannot be shown.

    Args:
        text: As `included_text` returns it.
        expand: Expands the text; raises `UnknownOutputError`.
        site: The wiki.
    """
    if not text:
        return "hidden"
    body = parse_body(text)
    if body is None:
        return None
    outputs: list[str] = []
    probes = _probes_of(text)
    for probe in probes:
        with suppress(UnknownOutputError):
            outputs.append(expand(body, probe))
    if not outputs or any(is_box(output) or "{{" in output for output in outputs):
        return None
    words = [visible_words(output, site) for output in outputs]
    if not any(words):
        # One output that cannot be known may be visible.
        return "hidden" if len(outputs) == len(probes) else None
    if all(_is_mark(output, phrase) for output, phrase in zip(outputs, words, strict=True)):
        return "hidden"
    # With one output, the others needed more arguments than there were.
    if len(words) > 1 and len(set(words)) == 1 and len(words[0]) > _LONGEST_CONSTANT:
        return None
    return f"body: {text}"


def _probes_of(text: str) -> list[Mapping[str, str]]:
    """Return the arguments with which a text is tried."""
    # Every parameter has an argument in these; a switch may print nothing but for one of its cases.
    words_of_all = ["Lima"]
    if "#" in text:
        words_of_all += islice(_CASE.findall(text), _MOST_CASES)
    if "#expr" in text:
        words_of_all.append("4")
    parameters = _PARAMETER.findall(text)
    probes = [*_PROBES, *(dict.fromkeys(parameters, word) for word in words_of_all)]
    if "#time" in text:
        probes += _DATE_PROBES
    return probes


def is_box(output: str) -> bool:
    """Return whether a template writes a table, a box or a heading rather than words."""
    return _BOX.search(output) is not None


def drop_hidden(output: str) -> str:
    """Return a template's output without spans that no browser shows."""
    return _HIDDEN_SPAN.sub("", output)


def visible_words(output: str, site: SiteInfo) -> str:
    """Return the words of an output without tags, categories and images."""

    def replacement(link: re.Match[str]) -> str:
        return "" if read_target(link[1], site).kind in _INVISIBLE else link[0]

    return _TAG.sub("", _LINK.sub(replacement, drop_hidden(output))).replace("&nbsp;", " ").strip(f" \n\t{GAP}")


def _is_mark(output: str, words: str) -> bool:
    """Return whether an output is a superscript mark in brackets, such as [citation needed]."""
    if not words:
        return True
    return _SUPERSCRIPT.match(output) is not None and words[0] in "[(&" and words[-1] in "]);"
