"""Replace templates whose arguments are part of the prose by their words: names, quotations, links, flags."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

from babel.core import get_global

from ease.wikimedia.languages import WIKIPEDIA_LANGUAGES, Language
from ease.wikimedia.wikitext.dates import DATES
from ease.wikimedia.wikitext.markup import GAP, HOLE
from ease.wikimedia.wikitext.quantities import QUANTITIES
from ease.wikimedia.wikitext.template_arguments import Arguments, Writer, find_locale, template_data

# Language names that are cached; a dump may have any number of codes.
_LANGUAGE_NAMES = 4096


def _nihongo(arguments: Arguments) -> str:
    """Write `English|kanji|romaji` with the last two in brackets."""
    english, *originals = (arguments.at(place).rstrip(", ") for place in (0, 1, 2))
    brackets = ", ".join(filter(None, originals))
    if english and brackets:
        return f"{english} ({brackets})"
    return english or brackets


def _ship(arguments: Arguments) -> str:
    """Write `HMS|Victory|1765` as HMS Victory (1765); the fourth argument says which parts are shown."""
    prefix, name, number, form = (arguments.at(place) for place in range(4))
    if arguments.keywords.get("up"):
        form = "2"
    if form == "1":
        return number or f"{prefix} {name}"
    if form in ("3", "6"):
        prefix = ""
    if form in ("2", "6", "5"):
        number = ""
    words = " ".join(filter(None, [prefix, name]))
    if number and words:
        return f"{words} ({number})"
    return words


def _ship_class(arguments: Arguments) -> str:
    """Write `Nimitz|aircraft carrier` as Nimitz-class aircraft carrier."""
    name, kind, form = (arguments.at(place) for place in range(3))
    if not name:
        return ""
    if form in ("0", "5"):
        return f"{name} {kind}".strip()
    if not kind:
        return f"{name} class"
    return f"{name}-class {kind}"


def _native_name(arguments: Arguments) -> str:
    """Write `nap|Abbrùzze` as Abbrùzze (Neapolitan)."""
    code = arguments.at(0)
    words = arguments.at(1)
    name = name_language(code.lower(), arguments.language)
    if not words or not name or arguments.keywords.get("paren") == "omit":
        return words
    return f"{words} ({name})"


def _reading(arguments: Arguments) -> str:
    """Write `青木 花子|あおき はなこ` with the reading in brackets, as Japanese does."""
    words = arguments.at(0)
    readings = "、".join(filter(None, arguments.positional[1:3]))
    if not words or not readings:
        return words
    return f"{words}（{readings}）"


def _quoted(arguments: Arguments) -> str:
    """Write words between the quotation marks of the wiki's language."""
    words = arguments.at(0) or arguments.keywords.get("text") or arguments.keywords.get("quote") or ""
    if not words:
        return ""
    start, end = Language(arguments.language).quotation_marks
    if arguments.language == "fr":
        # French sets spaces inside its marks.
        return f"{start} {words} {end}"
    return f"{start}{words}{end}"


def _pronunciation(arguments: Arguments) -> str:
    """Drop `es|anˈɡola`, a pronunciation of the word before it; `/a/` alone is a word of the sentence.

    Japanese templates set brackets around it, which depend on the letters of their names.
    """
    if arguments.at(1):
        return ""
    if arguments.language == "ja":
        return GAP + HOLE
    return arguments.at(0)


def with_language(code: str, words: str, arguments: Arguments) -> str:
    """Return words of a language after its name, both in the language of a wiki; the words alone without a name.

    The argument `label` replaces the name, or removes it.
    """
    # Never abbreviated (`англ. John`), also where print is: ICU would end a sentence before the capital.
    name = arguments.keywords.get("label") or name_language(code.lower(), arguments.language)
    if name and name != "none" and words:
        return f"{name}: {words}"
    return words


_NO_COUNTRIES = frozenset({"BUR", "DDR", "FXX", "QUU", "TMP", "XAA", "XBB", "YMD", "ZAR", "ZZZ"})
"""Codes of former countries and of none, which CLDR nevertheless replaces by a code with a name"""


@cache
def name_country(code: str, language: str) -> str:
    """Return the name of a country by its code, ISO's or the Olympic one; empty if CLDR lacks it."""
    locale = find_locale(language)
    if locale is None:
        return ""
    return str(locale.territories.get(_territory(code), ""))


def _territory(code: str) -> str:
    """Return ISO's code of two letters for one of three, of ISO or of the Olympic Games; others as they are."""
    # CLDR lists codes of three letters as aliases of those of two; former countries may have several successors.
    territories = get_global("territory_aliases").get(code, [])
    if len(code) == 3 and code not in _NO_COUNTRIES and len(territories) == 1:
        return str(territories[0])
    return str(template_data()["olympic codes"].get(code, code))


@lru_cache(maxsize=_LANGUAGE_NAMES)
def name_language(code: str, language: str) -> str:
    """Return a language's name in another language; empty if CLDR lacks it."""
    locale = find_locale(language)
    if locale is None:
        return ""
    return str(locale.languages.get(code, ""))


_LABELS = ("lt", "label", "text", "texte", "texto", "testo", "display", "d", "a", "nom", "vis", "نص", "متن")
"""Names of the argument with the words of a link to another language's article"""
# Names of the argument with the title in the wiki itself, besides the language's code
_OWN_TITLES = {"ar": ("عر", "عنوان")}


def _interlanguage(arguments: Arguments) -> str:
    """Show the words of a link to an article that only another wiki has.

    Wikis write `title|de|other title`, `de|other title|label`, `title|label|de|other title`, or `title|other title`.
    """
    for name in _LABELS:
        if label := arguments.keywords.get(name):
            return label
    first, second, third = (arguments.at(place) for place in range(3))
    if second and first.lower() in WIKIPEDIA_LANGUAGES:
        return arguments.at(3) or third or second
    if third and third.lower() in WIKIPEDIA_LANGUAGES:
        return second or first
    # `title|de|other title|label`; several languages follow each other without a label.
    label = arguments.at(3)
    if label and second.lower() in WIKIPEDIA_LANGUAGES and label.lower() not in WIKIPEDIA_LANGUAGES:
        return label
    # A title may be named by the code of the wiki's language.
    names = (arguments.language, *_OWN_TITLES.get(arguments.language, ()))
    return first or next(filter(None, map(arguments.keywords.get, names)), "")


def _coordinates(arguments: Arguments) -> str:
    """Mark coordinates in a sentence, which are not shown, as a hole; those in the page's title print nothing there."""
    if arguments.keywords.get("display", "").strip() in ("title", "t"):
        return ""
    return GAP + HOLE


def _named_flag(arguments: Arguments) -> str:
    """Write `Norvegia|nome` as Norvegia; a flag alone prints no word."""
    if arguments.at(1).lower() in ("nome", "name"):
        return arguments.at(0)
    return ""


def _flag(arguments: Arguments) -> str:
    """Write `Peru`, `PER` or `UN` as the name of the country; the argument `name` replaces it."""
    if name := arguments.keywords.get("name"):
        return name
    country = arguments.at(0)
    if country.isascii() and country.isalpha() and country.isupper() and len(country) <= 3:
        return name_country(country, arguments.language) or GAP + HOLE
    return country


def _accidental(arguments: Arguments) -> str:
    """Write `flat` as ♭; another symbol of music by its name."""
    return {"flat": "♭", "sharp": "♯", "natural": "♮"}.get(arguments.at(0), arguments.at(0))


def _brackets(arguments: Arguments) -> str:
    if not arguments.at(0):
        return ""
    return f"⟨{arguments.at(0)}⟩"


FAMILIES: Mapping[str, Writer] = {
    **QUANTITIES,
    **DATES,
    "nihongo": _nihongo,
    "interlanguage": _interlanguage,
    "joined": lambda arguments: "".join(arguments.positional),
    "brackets": _brackets,
    "flag": _flag,
    "accidental": _accidental,
    "coordinates": _coordinates,
    "named_flag": _named_flag,
    "list": lambda arguments: " · ".join(filter(None, arguments.positional)),
    "words": lambda arguments: " ".join(arguments.positional[:2]),
    "ship": _ship,
    "ship_class": _ship_class,
    "native_name": _native_name,
    "reading": _reading,
    "quoted": _quoted,
    "pronunciation": _pronunciation,
    "all_words": lambda arguments: " ".join(filter(None, arguments.positional)),
    "named_language": lambda arguments: with_language(arguments.at(0), arguments.at(1), arguments),
}
"""Writers of templates by family; a writer returns an empty text to remove the template"""
