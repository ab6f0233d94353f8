"""Look up how the templates of a wiki are shown, from the shipped lists and from what was learnt from its dump.

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

from ease.errors import EaseError
from ease.io.files import read_data_file
from ease.names import nearest
from ease.wikimedia.wikitext.families import FAMILIES, name_country, with_language
from ease.wikimedia.wikitext.markup import UNKNOWN_TEMPLATE
from ease.wikimedia.wikitext.parser_functions import evaluate_expression, format_time
from ease.wikimedia.wikitext.quantities import show_number
from ease.wikimedia.wikitext.template_arguments import Arguments, Writer, read_arguments, template_data
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
# Names that are remembered; a dump may have any number.
_REMEMBERED = 50_000
# Redirects and nested names that are followed.
_MOST_STEPS = 5

# `{{lang-fr|mot}}`, with the language's name; `lang-fr2`, as some wikis have it, without.
_LANGUAGE_TEMPLATE = re.compile(r"lang-([a-z]{2,3})(?:-[a-z-]+)?([23]?)")
# A link to an article of another wiki whose language is in the name: `{{link-en|title|English title|label}}`.
_LINK_TEMPLATE = re.compile(r"(?:link-|internal link helper/|ilh/)[a-z]{2,3}(?:-[a-z]+)?|[a-z]{2,3}-link")
# Templates of single wikis with a language in the name: `{{laS|homo}}` in German, `{{k-la|homo}}` in Finnish.
_FORMS = {"de": re.compile(r"([a-z]{2,3})s"), "fi": re.compile(r"k-([a-z]{2,3})")}
# `{{به انگلیسی|Blue House}}` or without the first word, "in English", which prints its name and the words in brackets.
_PERSIAN = re.compile(
    "(?:به )?(آلمانی|اردو|ارمنی|اسپانیایی|انگلیسی|اوکراینی|ایتالیایی|پرتغالی|ترکی استانبولی|ترکی|چینی|روسی|ژاپنی|سوئدی"
    "|عبری|عربی|فرانسوی|کردی|کره‌ای|گرجی|لاتین|لهستانی|هلندی|هندی|یونانی)|به (فرانسه)"
)
# `{{ألمانية|Spree}}`, which prints "in the German (language)" and the words.
_ARABIC = re.compile(
    "ألمانية|أرمنية|أمازيغية|أوكرانية|إسبانية|إنجليزية|إيطالية|بولندية|برتغالية|تركية|روسية|سريانية|سويدية|صينية|عبرية"
    "|فارسية|فرنسية|كردية|كورية|لاتينية|هندية|هولندية|يابانية|يونانية"
)
# `{{XXe siècle}}`, which writes its name.
_CENTURY = re.compile(r"([ivx]+)((?:er|e) (?:siècle|millénaire)(?: av\. j\.-c\.)?)")
# `{{3e}}`, `{{1er}}`, `{{Ier}}` and `{{XIV}}`, in French
_ORDINAL = re.compile(r"(?:\d{1,3}|[IVX]+)es?|(?:1|I)(?:er|re)|(?:2|II)nde?|[IVX]{2,}")
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
            return TemplateEntry(lambda arguments: arguments.title or UNKNOWN_TEMPLATE)
        prefix, colon, rest = words.partition(":")
        if colon:
            function = prefix.strip().lower().removeprefix("#")
            if entry := _functions().get(function):
                return entry
            if function in self._namespaces or not prefix:
                words = rest.strip()
        entry = self.find_template(words)
        if entry is not None and entry.is_hidden:
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
        if specification and (listed is None or not listed.is_hidden):
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
        return _find_by_form(name, self.site.language)

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
    """Return how a template is shown whose name says it: `lang-fr`, `script/hebrew`, `1/2`, `cite web`."""
    if entry := _find_by_form_of(language, name):
        return entry
    lower = name.lower()
    if _FRACTION.fullmatch(lower):
        return TemplateEntry(_constant(lower.replace("/", "⁄")))
    if match := _LANGUAGE_TEMPLATE.fullmatch(lower):
        code, without_name = match.groups()
        if without_name:
            return read_specification("argument: 1")
        return TemplateEntry(lambda arguments: with_language(code, arguments.at(0), arguments))
    if _SCRIPT_TEMPLATE.fullmatch(lower):
        return read_specification("argument: 1")
    if _LINK_TEMPLATE.fullmatch(lower):
        return read_specification("argument: d|label|3|1")
    if _hidden_pattern().fullmatch(lower):
        return TemplateEntry(None)
    return None


def _find_by_form_of(language: str, name: str) -> TemplateEntry | None:
    """Return how a template of one wiki is shown whose name says it: `3e`, `XXe siècle` in French."""
    lower = name.lower()
    form = _FORMS.get(language)
    if form and (match := form.fullmatch(lower)):
        code = match[1]
        return TemplateEntry(lambda arguments: with_language(code, arguments.at(0), arguments))
    if language == "fr" and (century := _CENTURY.fullmatch(lower)):
        return TemplateEntry(_constant(f"{century[1].upper()}{century[2]}"))
    if language == "fr" and _ORDINAL.fullmatch(name):
        return TemplateEntry(_constant(name))
    if language == "fa" and (persian := _PERSIAN.fullmatch(lower)):
        return _in_brackets(f"به {persian[1] or persian[2]}")
    if language == "ar" and _ARABIC.fullmatch(lower):
        return _in_brackets(f"بال{lower}")
    return None


def _in_brackets(language: str) -> TemplateEntry:
    """Return how words in a language are shown, after the language's name in brackets; a mark without words is not."""

    def write(arguments: Arguments) -> str:
        if arguments.keywords:
            return UNKNOWN_TEMPLATE
        return arguments.at(0) and f"({language}: {arguments.at(0)})"

    return TemplateEntry(write)


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
    for name, wikitext in template_data()["body"].get(code, {}).items():
        entries[str(name).lower()] = TemplateEntry(None, body=parse_body(wikitext))
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
    return format_time(arguments.at(0), arguments.at(1), language) or UNKNOWN_TEMPLATE


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
        "expr": lambda arguments: evaluate_expression(arguments.at(0)) or UNKNOWN_TEMPLATE,
        "time": _show_time,
    }
    writers |= dict.fromkeys(template_data()["formatnum"], _show_formatnum)
    return {name: TemplateEntry(writer, True) for name, writer in writers.items()}
