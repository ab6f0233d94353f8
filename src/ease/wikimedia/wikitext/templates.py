"""Replace templates whose text is part of the prose by their words, and mark where unknown templates leave a hole.

A wiki's templates are found, in this order, in what the caller gives, what the lists of the wiki's language
(`templates.yml`, `template_items.yml`) hide, their own text in the wiki's dump, the other lists of the language, what
else was learnt from the dump, and the lists for all wikis.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain, count
from typing import NamedTuple

from ease.errors import EaseError
from ease.io.files import read_data_file
from ease.names import nearest
from ease.wikimedia.wikitext.families import FAMILIES, name_country, with_language
from ease.wikimedia.wikitext.markup import GAP, HEADING, HOLE, ITEM
from ease.wikimedia.wikitext.parser_functions import evaluate_expression, format_time
from ease.wikimedia.wikitext.passes import match_braces
from ease.wikimedia.wikitext.quantities import show_number
from ease.wikimedia.wikitext.template_arguments import Arguments, Writer, make_arguments, template_data
from ease.wikimedia.wikitext.template_bodies import (
    Body,
    Expansion,
    TemplateEntry,
    UnknownOutputError,
    drop_hidden,
    is_box,
    parse_body,
)
from ease.wikimedia.wikitext.titles import SiteInfo, normalize_first

TEMPLATE = 10
"""The namespace of templates."""
BOX = "box"
"""The specification of templates whose own text is a box: unknown, also if a list for all wikis has their name."""
HIDDEN = "hidden"
"""The specification of templates that print nothing where they stand: references, anchors, maintenance marks."""
# What an unknown template leaves: a gap like any other, and the mark.
_HOLE = GAP + HOLE
# Nested templates that are shown; deeper ones are removed, as beyond MediaWiki's limit of 40 expansions.
_DEEPEST = 40
# Characters of a template's source; a longer template is removed.
_LONGEST_TEMPLATE = 2000
# Characters of a template's words; longer ones are removed, since arguments that a template repeats grow fast.
_LONGEST_OUTPUT = 10_000
# Characters of a name. MediaWiki's limit of a title is 255 bytes; white space may surround it.
_LONGEST_NAME = 300
# Names that are remembered; a dump may have any number.
_REMEMBERED = 50_000
# Redirects and nested names that are followed.
_MOST_STEPS = 5

_ONLY_TEMPLATES = re.compile(rf"(?:[ \t{ITEM}]|\{{\{{[^{{}}\n]*+\}}\}})*+")
_LINE_END = re.compile(r"[ .;,)]*(?:\n|$)")
# What may follow a box in its line: the rest of a reference or of another box.
_REST_OF_LINE = re.compile(rf"[ \t{GAP}]*(?:\n|$|\{{\{{)")
# What stands before and after a pronunciation that is an addition to a word, in brackets.
_OPENING_BRACKET = re.compile(r"[(\[（][ '\xa0]*$")
_PUNCTUATION = re.compile(r"[,;:،؛、，；：][ \xa0]*$")
_ADDITION_END = re.compile(r"[ \xa0]*[)\]）,;،؛、，；]")
_NEAR = 10
_NEAR_WORD = 40
_INVISIBLE = " \t" + GAP + HOLE
_COMMAS = ",;،、，；"
_NEXT_COMMA = re.compile(rf" *[{_COMMAS}]")
_LINE_MARKS = re.compile(r"\n(?:[*#:;]++|-----*+)")
# An argument; the bar of a link or of a script variant in it does not end it.
_PART = re.compile(r"(?:[^|\[-]++|\[\[(?:[^\[\]]++|\[[^\[\]]*+\])*+\]\]|-\{(?:-\{[^{}]*+\}-|[^{}])*+\}-|[\[-])*+")
_ARGUMENT_NAME = re.compile(r"[\w ±×/+*–-]+")
# `{{lang-fr|mot}}`, with the language's name; `lang-fr2`, as some wikis have it, without.
_LANGUAGE_TEMPLATE = re.compile(r"lang-([a-z]{2,3})(?:-[a-z-]+)?([23]?)")
# A link to an article of another wiki whose language is in the name: `{{link-en|title|English title|label}}`.
_LINK_TEMPLATE = re.compile(r"(?:link-|internal link helper/|ilh/)[a-z]{2,3}(?:-[a-z]+)?|[a-z]{2,3}-link")
# Templates of single wikis with a language in the name: `{{laS|homo}}` in German, `{{k-la|homo}}` in Finnish.
_FORMS = {"de": re.compile(r"([a-z]{2,3})s"), "fi": re.compile(r"k-([a-z]{2,3})")}
# `{{به انگلیسی|Blue House}}`, "in English", which prints its name and the words in brackets.
_PERSIAN = re.compile(
    "به (?:آلمانی|اردو|ارمنی|اسپانیایی|انگلیسی|اوکراینی|ایتالیایی|پرتغالی|ترکی استانبولی|ترکی|چینی|روسی|ژاپنی|سوئدی"
    "|عبری|عربی|فرانسوی|فرانسه|کردی|کره‌ای|گرجی|لاتین|لهستانی|هلندی|هندی|یونانی)"
)
# `{{XXe siècle}}`, which writes its name.
_CENTURY = re.compile(r"([ivx]+)((?:er|e) (?:siècle|millénaire)(?: av\. j\.-c\.)?)")
# `{{3e}}` and `{{1er}}`, in French
_ORDINAL = re.compile(r"\d{1,3}(?:er|re|nd|nde|es?)")
_COUNTRY = re.compile(r"[A-Z]{3}")
_FRACTION = re.compile(r"\d{1,3}/\d{1,3}")
_SCRIPT_TEMPLATE = re.compile(r"script/[a-z -]+")


@cache
def lists_digest() -> str:
    """Return a hash of the shipped lists, on which what is learnt from a dump depends."""
    names = ("templates.yml", "template_items.yml", "template_numbers.yml")
    content = b"".join(files(__package__).joinpath(name).read_bytes() for name in names)
    return hashlib.blake2b(content, digest_size=8).hexdigest()


@cache
def _template_items() -> dict[str, dict[str, list[object]]]:
    """Return the content of `template_items.yml`: names of the same template on each wiki."""
    content: dict[str, dict[str, list[object]]] = read_data_file(__package__, "template_items.yml")
    return content


@cache
def _page_names() -> frozenset[str]:
    """Return MediaWiki's variables of the page's title; those with a namespace or parents are the same for articles."""
    return frozenset(template_data()["page names"])


@cache
def _citation_pattern() -> re.Pattern[str]:
    return re.compile(template_data()["citation pattern"])


@cache
def _sound_pattern() -> re.Pattern[str]:
    return re.compile(template_data()["sound pattern"])


@cache
def _hidden_pattern() -> re.Pattern[str]:
    return re.compile("|".join(template_data()["hidden patterns"]))


class LearntTemplates(dict[str, str]):
    """Specifications of a wiki's templates by title, learnt from its dump (see `read_specification`)."""


class Replacement(NamedTuple):
    """A span of the text that is replaced, by a mark or by the words of a template with further templates inside."""

    start: int
    end: int
    mark: str
    entry: TemplateEntry | None = None
    inside: Sequence[Replacement] = ()


class TemplateTable:
    """How the templates of one wiki are shown.

    Attributes:
        site: The wiki.
        learnt: Specifications by title, as `read_templates` returns them.
    """

    def __init__(
        self, site: SiteInfo, learnt: Mapping[str, str] | None = None, overrides: Mapping[str, str] | None = None
    ) -> None:
        """Prepare the lists of a wiki's language.

        Args:
            site: The wiki.
            learnt: Specifications by the titles of the wiki's templates.
            overrides: Specifications that take precedence over all lists, by name.

        Raises:
            EaseError: A specification cannot be read.
        """
        self.site = site
        self.learnt: Mapping[str, str] = {}
        # Not `learnt or {}`: the caller may fill the mapping later.
        if learnt is not None:
            self.learnt = learnt
        self._overrides = {self._title(name): specification for name, specification in (overrides or {}).items()}
        for name, specification in (overrides or {}).items():
            check_specification(name, specification)
        self._of_language = _listed(site.language)
        self._of_all = _listed("all")
        self._namespaces = {name for name, number in site.namespaces.items() if number == TEMPLATE} | {"template"}
        self._remembered: dict[str, TemplateEntry | None] = {}

    def find(self, name: str) -> TemplateEntry | None:
        """Return how a template is shown, from the text between its braces and its first bar; None if unknown."""
        try:
            return self._remembered[name]
        except KeyError:
            pass
        entry = self._find(name)
        # A parser function's name has its first argument: it would never return.
        if entry is None or not entry.is_function:
            if len(self._remembered) >= _REMEMBERED:
                self._remembered.clear()
            self._remembered[name] = entry
        return entry

    def _find(self, name: str) -> TemplateEntry | None:
        words = " ".join(name.replace("_", " ").split())
        if words in _page_names():
            return TemplateEntry(lambda arguments: arguments.title or _HOLE)
        prefix, colon, rest = words.partition(":")
        if colon:
            function = prefix.strip().lower().removeprefix("#")
            if entry := _functions().get(function):
                return entry
            if function in self._namespaces or not prefix:
                words = rest.strip()
        entry = self.find_template(words)
        if entry is not None and entry.writer is None and entry.body is None:
            lower = words.lower()
            is_citation = _citation_pattern().fullmatch(lower) is not None
            return entry._replace(is_citation=is_citation, is_sound=_sound_pattern().fullmatch(lower) is not None)
        return entry

    def find_template(self, name: str, steps: int = _MOST_STEPS) -> TemplateEntry | None:
        """Return how the template of a name without its namespace is shown; None if unknown."""
        if not name or not steps:
            return None
        title = self._title(name)
        if specification := self._overrides.get(title):
            return self._read(specification, steps)
        lower = name.lower()
        listed = self._of_language.get(lower)
        specification = self.learnt.get(title)
        if specification == BOX and listed is None:
            return None
        # What a list hides, such as buttons and bibliographic entries, is printed, but belongs to no sentence.
        if specification and (listed is None or listed.writer is not None):
            entry = self._read(specification, steps)
            if entry and entry.body is not None:
                return entry._replace(otherwise=listed or self._find_of_all(name))
            if entry and listed is None:
                return entry
        return listed or self._find_of_all(name)

    def _find_of_all(self, name: str) -> TemplateEntry | None:
        """Return how a template is shown in any wiki, by its name alone; None if unknown."""
        lower = name.lower()
        if lower in self._of_all:
            return self._of_all[lower]
        # `{{PER}}` writes a flag and the name of a country.
        if _COUNTRY.fullmatch(name) and (country := name_country(name, self.site.language)):
            return TemplateEntry(_constant(country))
        return _find_by_form(lower, self.site.language)

    def expand(self, body: Body, arguments: Mapping[str, str], title: str = "") -> str:
        """Return the words of a template's text; raises UnknownOutputError if they cannot be known."""
        return Expansion(self.find, self.site.language, title).expand(body, arguments)

    def write(self, entry: TemplateEntry, content: str | None, title: str = "") -> str | None:
        """Return the words of a template with some arguments; empty for a box, and None if they cannot be known.

        A template without arguments has no content. `title` is the page's.
        """
        arguments = Arguments([], {}, self.site.language, title=title)
        if content is not None:
            arguments = read_arguments(content, self.site.language, title)
        if entry.writer is not None:
            return entry.writer(arguments)
        if entry.body is None:
            return ""
        try:
            output = drop_hidden(self.expand(entry.body, arguments.exact, title)).strip()
        except UnknownOutputError:
            if entry.otherwise is None:
                return None
            return self.write(entry.otherwise, content, title)
        if is_box(output):
            return ""
        return output

    def forget(self) -> None:
        """Look up all names again, after more has been learnt."""
        self._remembered.clear()

    def is_listed(self, name: str, shortest: int = 1) -> bool:
        """Return whether a list has a template; names in the list for all wikis count from so many characters."""
        lower = name.lower()
        return lower in self._of_language or (len(lower) >= shortest and lower in self._of_all)

    def _read(self, specification: str, steps: int) -> TemplateEntry | None:
        kind, _, value = specification.partition(":")
        if kind == "redirect":
            return self.find_template(value.strip(), steps - 1)
        if kind == "body":
            body = parse_body(value.strip())
            return body and TemplateEntry(None, body=body)
        return read_specification(specification)

    def _title(self, name: str) -> str:
        return normalize_first(" ".join(name.replace("_", " ").split()), self.site)


@lru_cache(maxsize=4096)
def read_specification(specification: str) -> TemplateEntry | None:
    """Return how templates with a specification are shown; None for an unknown specification.

    Specifications are `hidden`, the name of a family such as `quantity`, and:

    - `argument: lt|2|1`: the first of these arguments that is not empty;
    - `text: TeX`: this text, whatever the arguments;
    - `prefix: US$`: this text before the first argument;
    - `ship: HMS`: this prefix before a ship's name.

    `TemplateTable` also reads `redirect: …`, the name of another template, and `body: …`, wikitext with parameters.
    """
    kind, _, value = specification.partition(":")
    value = value.strip()
    if kind == HIDDEN:
        return TemplateEntry(None)
    if kind == "argument":
        names = [name.strip() for name in value.split("|")]
        return TemplateEntry(lambda arguments: next(filter(None, (_argument(arguments, name) for name in names)), ""))
    if kind == "text":
        return TemplateEntry(lambda arguments: value)
    if kind == "prefix":
        prefix = specification.partition(":")[2].lstrip()
        return TemplateEntry(lambda arguments: f"{prefix}{arguments.at(0)}".strip())
    if kind == "ship" and value:
        ship = FAMILIES["ship"]
        return TemplateEntry(lambda arguments: ship(arguments._replace(positional=[value, *arguments.positional])))
    if kind in FAMILIES:
        return TemplateEntry(FAMILIES[kind])
    return None


def _find_by_form(name: str, language: str) -> TemplateEntry | None:
    """Return how a template is shown whose lower-case name says it: `lang-fr`, `script/hebrew`, `1/2`, `cite web`."""
    if entry := _find_by_form_of(language, name):
        return entry
    if _FRACTION.fullmatch(name):
        return TemplateEntry(_constant(name.replace("/", "⁄")))
    if match := _LANGUAGE_TEMPLATE.fullmatch(name):
        code, without_name = match.groups()
        if without_name:
            return read_specification("argument: 1")
        return TemplateEntry(lambda arguments: with_language(code, arguments.at(0), arguments))
    if _SCRIPT_TEMPLATE.fullmatch(name):
        return read_specification("argument: 1")
    if _LINK_TEMPLATE.fullmatch(name):
        return read_specification("argument: d|label|3|1")
    if _hidden_pattern().fullmatch(name):
        return TemplateEntry(None)
    return None


def _find_by_form_of(language: str, name: str) -> TemplateEntry | None:
    """Return how a template of one wiki is shown whose lower-case name says it: `3e`, `XXe siècle` in French."""
    form = _FORMS.get(language)
    if form and (match := form.fullmatch(name)):
        code = match[1]
        return TemplateEntry(lambda arguments: with_language(code, arguments.at(0), arguments))
    if language == "fr" and (century := _CENTURY.fullmatch(name)):
        return TemplateEntry(_constant(f"{century[1].upper()}{century[2]}"))
    if language == "fr" and _ORDINAL.fullmatch(name):
        return TemplateEntry(_constant(name))
    if language == "fa" and _PERSIAN.fullmatch(name):
        return TemplateEntry(lambda arguments: arguments.at(0) and f"({name}: {arguments.at(0)})")
    return None


def _argument(arguments: Arguments, name: str) -> str:
    if name.lstrip("-").isdecimal():
        place = int(name)
        # Positions count from 1, or from -1 backwards.
        return arguments.at(place - 1 if place > 0 else place)
    return arguments.keywords.get(name.lower(), "")


def check_specification(name: str, specification: str) -> None:
    """Raise EaseError if a template's specification cannot be read."""
    if isinstance(specification, str) and (
        specification.startswith(("redirect:", "body:")) or read_specification(specification) is not None
    ):
        return
    kinds = [HIDDEN, "argument", "text", "prefix", "ship", "redirect", "body", *FAMILIES]
    kind = str(specification).partition(":")[0]
    hint = "use hidden, `argument: 2|1`, `text: …`, `prefix: …`, `redirect: …`, `body: …` or a family such as quantity."
    if similar := nearest(kind, kinds):
        hint = f"did you mean {' or '.join(similar)}?"
    raise EaseError(f"Template {name!r} has an unknown specification {specification!r}: {hint}")


@lru_cache(maxsize=512)
def _listed(code: str) -> dict[str, TemplateEntry]:
    """Return the templates that the lists have for one language, or for `all`, by lower-case name."""
    entries: dict[str, TemplateEntry] = {}
    for name, specification in _listed_specifications(code):
        entry = read_specification(specification)
        if entry is None:
            raise ValueError(f"{name}: unknown specification {specification!r}")
        entries[str(name).lower()] = entry
    for name, output in template_data()["text"].get(code, {}).items():
        # Not through a specification, which would lose the spaces around a dash.
        entries[str(name).lower()] = TemplateEntry(_constant(output))
    return entries


def _listed_specifications(code: str) -> Iterator[tuple[object, str]]:
    """Yield names and specifications; of several for one name, the last one counts."""
    sections: list[Mapping[str, Sequence[object]]] = [
        {specification: names_by_wiki.get(code, ()) for specification, names_by_wiki in _template_items().items()},
        {HIDDEN: template_data()["hidden"].get(code, ())},
        template_data()["own"].get(code, {}),
        {f"argument: {place}": names for place, names in template_data()["argument"].get(code, {}).items()},
        {f"ship: {prefix}": names for prefix, names in template_data()["ships"].get(code, {}).items()},
    ]
    for section in sections:
        for specification, names in section.items():
            yield from ((name, specification) for name in names)
    for name, prefix in template_data()["prefix"].get(code, {}).items():
        yield name, f"prefix: {prefix}"


@lru_cache(maxsize=512)
def _specifications(code: str) -> dict[str, str]:
    return {str(name).lower(): specification for name, specification in _listed_specifications(code)}


def listed_specification(name: str, language: str) -> str | None:
    """Return the specification of a template in the lists of a language or of all wikis; None if it has none."""
    lower = name.lower()
    if specification := _specifications(language).get(lower) or _specifications("all").get(lower):
        return specification
    if _hidden_pattern().fullmatch(lower):
        return HIDDEN
    return None


@cache
def listed_numbers() -> dict[int, str]:
    """Return the specifications of templates by the number of their Wikidata item, as far as the numbers are known."""
    table: dict[str, list[int]] = read_data_file(__package__, "template_numbers.yml")
    return {number: specification for specification, numbers in table.items() for number in numbers}


def _constant(output: str) -> Writer:
    return lambda arguments: output


def _show_formatnum(arguments: Arguments) -> str:
    return show_number(arguments.at(0), arguments.at(1), arguments.language)


def _show_time(arguments: Arguments) -> str:
    language = arguments.at(2) or arguments.language
    return format_time(arguments.at(0), arguments.at(1), language) or _HOLE


def _change_first(change: Callable[[str], str]) -> Writer:
    return lambda arguments: change(arguments.at(0)[:1]) + arguments.at(0)[1:]


@cache
def _functions() -> dict[str, TemplateEntry]:
    """Return the parser functions whose words are known, by lower-case name without `#`."""
    writers: dict[str, Writer | None] = dict.fromkeys(template_data()["hidden functions"])
    writers |= {
        "lc": lambda arguments: arguments.at(0).lower(),
        "uc": lambda arguments: arguments.at(0).upper(),
        "lcfirst": _change_first(str.lower),
        "ucfirst": _change_first(str.upper),
        "expr": lambda arguments: evaluate_expression(arguments.at(0)) or _HOLE,
        "time": _show_time,
    }
    writers |= dict.fromkeys(template_data()["formatnum"], _show_formatnum)
    return {name: TemplateEntry(writer, True) for name, writer in writers.items()}


def replace_templates(text: str, templates: TemplateTable | None = None, title: str = "") -> str:
    """Replace templates by their words; remove other templates, parser functions and parameters.

    As in MediaWiki, braces inside `[[…]]` do not close a template that is open outside. Unbalanced braces stay as text.

    Args:
        text: Wikitext without comments and extension tags.
        templates: The wiki's templates; None removes all templates.
        title: The page's title, for templates that show it.

    Returns:
        The text after a line break. `ITEM` and `HEADING` replace the marks at the beginning of its lines, a `GAP` what
        was removed, and a `HOLE` follows the gap of a template that is unknown and has a single line.
    """
    text = _LINE_MARKS.sub("\n" + ITEM, "\n" + text).replace("\n=", "\n" + HEADING)
    return _Renderer(text, templates, title).render(_find_templates(text, templates))


def _find_templates(text: str, templates: TemplateTable | None) -> list[Replacement]:
    """Return the outermost templates and parameters, in order; those inside are kept for templates that are shown."""
    replacements: list[Replacement] = []
    for start, end, braces in zip(*match_braces(text), strict=True):
        if braces:
            _add(replacements, _read_template(text, start, end, braces, templates))
        else:
            # `{{!}}` is how templates and tables write a pipe.
            replacements.append(Replacement(start, end, "|"))
    return replacements


def _read_template(text: str, start: int, end: int, braces: int, templates: TemplateTable | None) -> Replacement:
    if templates is None or braces == 3:
        return Replacement(start, end, GAP)
    inner_end = end - 2
    limit = min(inner_end, start + 2 + _LONGEST_NAME)
    bar = text.find("|", start + 2, limit)
    if bar < 0:
        bar = limit
    entry = None
    # Without a bar, a longer text is no template's name.
    if bar < inner_end or inner_end - start <= _LONGEST_NAME:
        entry = templates.find(text[start + 2 : bar])
    mark = _HOLE
    if entry is not None and entry.writer is None and entry.body is None:
        is_word = entry.is_citation and _begins_line(text, start)
        if not (is_word or (entry.is_sound and _follows_lower_case(text, start))):
            mark = GAP
        entry = None
    return Replacement(start, end, mark, entry)


def _begins_line(text: str, position: int) -> bool:
    """Return whether nothing but other templates, such as signs of languages, stands before a position in its line."""
    line = text.rfind("\n", max(0, position - _LONGEST_NAME), position) + 1
    return line > 0 and _ONLY_TEMPLATES.fullmatch(text, line, position) is not None


def _follows_lower_case(text: str, position: int) -> bool:
    """Tell whether the word before a position is in lower case, and no name: neither bold nor a link."""
    words = text[max(0, position - _NEAR_WORD) : position].split()
    return bool(words) and words[-1].lstrip("(")[:1].islower() and words[-1][-1].isalpha()


def _add(replacements: list[Replacement], template: Replacement) -> None:
    """Add a template; it takes the place of the last ones if it encloses them."""
    # Templates are added when they end, so an enclosing one comes after all that it encloses.
    first = len(replacements)
    while first and replacements[first - 1].start >= template.start:
        first -= 1
    if template.entry is not None:
        # Not `_replace`, which takes several times as long.
        template = Replacement(template.start, template.end, template.mark, template.entry, replacements[first:])
    replacements[first:] = [template]


class _Renderer:
    """Writes a text with the words of its templates."""

    def __init__(self, text: str, templates: TemplateTable | None, title: str) -> None:
        self.text = text
        self.templates = templates
        self.title = title

    def render(self, replacements: list[Replacement]) -> str:
        """Return the complete text."""
        pieces: list[str] = []
        position = 0
        last = ""
        for replacement in replacements:
            start = replacement.start
            words = replacement.mark
            if replacement.entry is not None:
                words = self._words(replacement, 0)
            if words == _HOLE and self._is_box(replacement, pieces, position):
                words = GAP
            pieces.append(self.text[position:start])
            pieces.append(words)
            if not words.startswith(GAP):
                position = replacement.end
                last = ""
                continue
            # Of the commas around what prints nothing, as in `Lao: ລາວ, {{IPA-lo|láːw}}, ''Lao''`, the first one stays.
            while start > position and self.text[start - 1] == " ":
                start -= 1
            if start > position:
                last = self.text[start - 1]
            position = replacement.end
            if last and last in _COMMAS and (comma := _NEXT_COMMA.match(self.text, position)):
                position = comma.end()
        pieces.append(self.text[position:])
        return "".join(pieces)

    def _words(self, template: Replacement, depth: int) -> str:
        """Return the words of a template, or the mark in its place."""
        start, end, mark, entry, inside = template
        if entry is None:
            # An argument of several lines is a box or a table beside the prose.
            if depth and mark is _HOLE and "\n" in self.text[start:end]:
                return GAP
            return mark
        if end - start > _LONGEST_TEMPLATE or depth > _DEEPEST or self.templates is None:
            return _HOLE
        separator = ":" if entry.is_function else "|"
        content_start = self.text.find(separator, start + 2, end - 2) + 1
        content = None
        if content_start:
            content = self._content(content_start, end - 2, inside, depth)
        output = self.templates.write(entry, content, self.title)
        if output is None or len(output) > _LONGEST_OUTPUT:
            return _HOLE
        if entry.writer is FAMILIES["coordinates"] and _LINE_END.match(self.text, end):
            # After the last word of a line, coordinates are an addition, as references are.
            return GAP
        if output and entry.writer is FAMILIES["pronunciation"] and self._is_addition(start, end):
            return _HOLE
        if output:
            return output
        if content and HOLE in content:
            return _HOLE
        return GAP

    def _is_addition(self, start: int, end: int) -> bool:
        """Tell whether a template begins the words in brackets, or stands alone between punctuation marks."""
        before = self.text[max(0, start - _NEAR) : start]
        if _OPENING_BRACKET.search(before):
            return True
        return _PUNCTUATION.search(before) is not None and _ADDITION_END.match(self.text, end) is not None

    def _content(self, start: int, end: int, inside: Sequence[Replacement], depth: int) -> str:
        """Return the arguments of a template, with the words of the templates inside."""
        pieces: list[str] = []
        position = start
        for inner in inside:
            if inner.start < start:
                continue
            pieces.append(self.text[position : inner.start])
            pieces.append(self._words(inner, depth + 1))
            position = inner.end
        pieces.append(self.text[position:end])
        return "".join(pieces)

    def _is_box(self, template: Replacement, pieces: Sequence[str], position: int) -> bool:
        """Tell whether an unknown template of several lines is a box beside the prose, and not a part of a sentence.

        A part of a sentence has words of its line before it, and something of the line after it.
        """
        start, end = template.start, template.end
        if template.entry is not None or self.text.find("\n", start, end) < 0:
            return False
        if _REST_OF_LINE.match(self.text, end):
            return True
        for before in chain([self.text[position:start]], reversed(pieces)):
            if words := before.rstrip(_INVISIBLE):
                return words.endswith(("\n", ITEM, HEADING))
        return True


def read_arguments(source: str, language: str, title: str = "") -> Arguments:
    """Split a template's content at its bars, but not at those of links."""
    exact: dict[str, str] = {}
    unnumbered = count(1)
    for part in _split_at_bars(source):
        name, sign, value = part.partition("=")
        name = name.strip()
        if sign and _ARGUMENT_NAME.fullmatch(name):
            exact[name] = value.strip()
        else:
            exact[str(next(unnumbered))] = part.strip()
    return make_arguments(exact, language, title)


def _split_at_bars(source: str) -> list[str]:
    # Without what the pattern protects, the simple way is several times as fast.
    if "[[" not in source and "-{" not in source:
        return source.split("|")
    parts: list[str] = []
    position = 0
    while position <= len(source):
        part = _PART.match(source, position)
        # The pattern also matches the empty text.
        assert part is not None
        position = part.end() + 1
        parts.append(part[0])
    return parts
