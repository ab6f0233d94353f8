"""Find the first sentence of a news article in clean text (appendix E of the paper), and the article's date."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime

import icu
from babel.core import Locale, UnknownLocaleError

from ease.wikimedia.languages import Language
from ease.wikimedia.wikitext.parser import Article, Link, parse_wikitext, split_article
from ease.wikimedia.wikitext.sentences import SentenceSplitter, SplitterEngine
from ease.wikimedia.wikitext.titles import SiteInfo, normalize_title

# Wikinews started in 2004 and has been read-only since 2026; other years are not an article's date.
FIRST_YEAR = 2003
LAST_YEAR = 2026
# One letter and a full stop at the end, or several of them: "George W.", "U.S.".
_INITIALS = re.compile(r"(?<![\w'’])(?:[^\W\d_]\.)+$")
_LAST_WORD = re.compile(r"[^\s(\[\"'«“]+$")
_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d+")
_QUOTED = re.compile(r"'([^']+)'")
_DAY = re.compile(r"(?<!\d)\d{1,2}\.$")
_SENTENCE_ENDS = frozenset(".!?…。؟۔")
# Largest number of characters before a date that may be a place: "Washington, D.C. (United States), ".
_LONGEST_PLACE = 40

_SKELETONS = ("yMMMMEEEEd", "yMMMMd", "MMMMd")
# Numbers of years for which languages have different words.
_YEARS = (0, 1, 2, 5, 1.5)
_TEMPLATE = re.compile(r"\{\{([^{}|]++)\|([^{}]*+)\}\}")
_TAG_OR_QUOTES = re.compile(r"<[^<>]*+>|'{2,}")
# Between place and date, and the first sentence.
_DASH = re.compile(r"\s[-–—]+\s")
# Lines of a page in which its date is looked for.
_LINES = 40
_LONGEST_LINE = 200
# Private-use character that marks the lines that are not paragraphs while a page is parsed.
_ASIDE = "\ue000"
_ITEM_OR_HEADING = re.compile(r"^([*#:;]++(?![ \t]*+\{\|)|=++)", re.MULTILINE)
_TAG = re.compile(r"<[^<>]*+>")
# In characters of wikitext.
_LONGEST_DATE_LINE = 200
# Last characters of a line after which a paragraph starts: an empty line, a template, an image or a heading.
_AFTER_MARKUP = ("", ">", "}", "]", "=")


class Abbreviations:
    """The abbreviations of one language: initials, and CLDR's sentence break suppressions, if any ("Dr.", "bzw.")."""

    def __init__(self, language: str) -> None:
        locale = Language(language).locale
        bundle = icu.ResourceBundle("ICUDATA-brkitr", locale)
        self._words: frozenset[str] = frozenset()
        # ICU gives a language without data those of the system's language.
        if bundle.getLocale().getLanguage() == locale.getLanguage():
            with suppress(icu.ICUError):
                words = bundle.get("exceptions").get("SentenceBreak")
                self._words = frozenset(words.getStringEx(place) for place in range(words.getSize()))

    def ends(self, sentence: str) -> bool:
        """Return whether the last word of a sentence is an abbreviation."""
        if initials := _INITIALS.search(sentence):
            # Scripts without case have words of one letter.
            return initials[0].lower() != initials[0].upper()
        word = _LAST_WORD.search(sentence)
        return word is not None and word[0] in self._words


class Dates:
    """Recognises and reads dates of one language, with their parts in any order and any punctuation.

    The names come from CLDR for all countries and calendars of the language (May is مايو or أيار in Arabic, and Iran
    has Persian months), with the words between them in CLDR's patterns ("3 de mayo"). For a language unknown to ICU,
    only numbers are recognised.
    """

    def __init__(self, language: str) -> None:
        # Pairs (calendar, number from 0) of each month, by its folded name.
        numbers: dict[str, list[tuple[str, int]]] = {}
        self._months: set[str] = set()
        self._names: set[str] = set()
        for calendar, months, weekdays in _date_names(language):
            self._months.update(_words(months))
            self._names.update(_words(weekdays))
            for number, name in enumerate(months):
                folded = fold(name).rstrip(".")
                places = numbers.setdefault(folded, [])
                # Some calendars have months without a name; months of Chinese, Japanese and Korean are numbers.
                if _WORD.search(name) and not _NUMBER.search(folded) and (calendar, number) not in places:
                    places.append((calendar, number))
        self._month_numbers = {name: places for name, places in numbers.items() if places}
        self._names |= self._months
        self._words = self._names.union(_pattern_words(language))
        # Names in scripts without capitals may be written without spaces: 3日火曜日.
        joined = sorted((word for word in self._words if word == word.upper()), key=len, reverse=True)
        self._joined = re.compile(f"(?:{'|'.join(map(re.escape, joined)) or '(?!)'})+")
        # Without names (months of Chinese, Japanese and Korean are numbers) the pattern matches nothing.
        names = "|".join(map(re.escape, sorted(self._month_numbers, key=len, reverse=True))) or "(?!)"
        self._month = re.compile(rf"(?<![^\W\d_])(?:{names})(?![^\W\d_])")
        form = icu.DateFormat.createDateInstance(icu.DateFormat.SHORT, Language(language).locale).toPattern()
        self._day_first = bool(form.find("d") < form.lower().find("m"))

    def is_date(self, text: str) -> bool:
        """Return whether a text has only numbers, the words of a date, and punctuation."""
        folded = fold(text)
        words = _WORD.findall(folded)
        # The words between the parts of a date, such as "de", are no date by themselves.
        has_part = not words or _NUMBER.search(folded) is not None or not self._names.isdisjoint(words)
        return has_part and all(map(self._is_date_word, words))

    def is_place_and_date(self, line: str) -> bool:
        """Return whether a line is a short text and a date with a year, and does not end like a sentence."""
        folded = fold(line)
        words = list(_WORD.finditer(folded))
        numbers = list(_NUMBER.finditer(folded))
        place = max((word.end() for word in words if not self._is_date_word(word[0])), default=0)
        dates = [number for number in numbers if number.start() >= place]
        has_month = any(word.start() >= place and word[0] in self._months for word in words)
        has_year = any(len(number[0]) == 4 for number in dates)
        end = max((part.end() for part in (*words[-1:], *numbers[-1:])), default=0)
        is_sentence = not _SENTENCE_ENDS.isdisjoint(folded[end:])
        return has_year and (has_month or len(dates) > 2) and place <= _LONGEST_PLACE and not is_sentence

    def is_inside_date(self, before: str, after: str) -> bool:
        """Return whether the boundary between two sentences splits a date: "Am 3." and "Mai 2022 …"."""
        word = _WORD.match(fold(after).lstrip())
        return bool(_DAY.search(before)) and word is not None and word[0] in self._months

    def _is_date_word(self, word: str) -> bool:
        return word in self._words or self._joined.fullmatch(word) is not None

    def find(self, source: str) -> date | None:
        """Return the date of a page's first date line or date template; None if there is none."""
        dates = map(self.read, self._candidates(source))
        return next(filter(None, dates), None)

    def read(self, text: str) -> date | None:
        """Return the date that a text names by year, month and day; None for another text."""
        folded = fold(text)
        month = self._month.search(folded)
        numbers = [int(number[0]) for number in _NUMBER.finditer(folded)]
        year = next((number for number in numbers if number > 999), None)
        if year is None:
            return None
        rest = [number for number in numbers if number != year]
        if month is not None and len(rest) == 1:
            return _in_gregorian(self._month_numbers[month[0]], year, rest[0])
        if month is None and len(rest) == 2:
            # A date in numbers: year first as in ISO 8601, or in the order of the language.
            if numbers[0] == year or not self._day_first:
                number, day = rest
            else:
                day, number = rest
            return _in_gregorian([("gregorian", number - 1)], year, day)
        return None

    def _candidates(self, source: str) -> Iterator[str]:
        """Yield the texts of a page's first lines that may be its date: arguments of templates, and lines."""
        for line in source.split("\n")[:_LINES]:
            if len(line) > _LONGEST_LINE:
                continue
            for template in _TEMPLATE.finditer(line):
                for words in (template[2].replace("|", " "), *template[2].split("|")):
                    if self.is_date(words):
                        yield words
            words = _TAG_OR_QUOTES.sub("", _TEMPLATE.sub("", line)).strip()
            for part in (words, *_DASH.split(words, maxsplit=1)[:1]):
                if self.is_date(part) or self.is_place_and_date(part):
                    yield part


def _date_names(language: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield calendar, months and weekdays in all forms: each country's own calendar, and the Gregorian calendar."""
    form = icu.DateFormatSymbols
    countries = [name for name in icu.Locale.getAvailableLocales() if name.startswith(f"{language}_")]
    for name in (language, *sorted(countries)):
        calendars = {"gregorian", icu.Calendar.createInstance(icu.Locale(name)).getType()}
        for calendar in sorted(calendars):
            locale = icu.Locale(f"{name}@calendar={calendar}")
            symbols = icu.SimpleDateFormat("y", locale).getDateFormatSymbols()
            for style in (form.WIDE, form.ABBREVIATED):
                for context in (form.FORMAT, form.STANDALONE):
                    yield calendar, symbols.getMonths(context, style), symbols.getWeekdays(context, style)


def _pattern_words(language: str) -> Iterator[str]:
    """Yield the words between the numbers and names of a date: "de", "年", "года", "rd"."""
    locale = Language(language).locale
    # Both ICU's patterns and Babel's, whose versions of CLDR differ: Catalan changed "de 2022" to "del 2022".
    generator = icu.DateTimePatternGenerator.createInstance(locale)
    patterns = [generator.getBestPattern(skeleton) for skeleton in _SKELETONS]
    # Some codes have no locale.
    with suppress(UnknownLocaleError, ValueError):
        patterns += [form.pattern for form in Locale.parse(language).date_formats.values()]
    for pattern in patterns:
        # Words in a pattern stand in quotes, or between its letters, which are fields.
        parts = _QUOTED.split(pattern)
        yield from _words(parts[1::2])
        yield from _words(re.sub("[A-Za-z]", " ", part) for part in parts[::2])
    ordinals = icu.RuleBasedNumberFormat(icu.URBNFRuleSetTag.ORDINAL, locale)
    yield from _words(ordinals.format(day) for day in range(1, 32))
    years = icu.MeasureFormat(locale, icu.UMeasureFormatWidth.WIDE)
    unit = icu.MeasureUnit.createYear()
    yield from _words(years.formatMeasure(icu.Measure(number, unit)) for number in _YEARS)


def _words(texts: Iterable[str]) -> Iterator[str]:
    """Yield the folded words of some texts."""
    for text in texts:
        yield from _WORD.findall(fold(text))


def fold(text: str) -> str:
    """Return a text without case and differences of width, with the digits 0 to 9 for those of other scripts."""
    return unicodedata.normalize("NFKC", text).casefold()


def _in_gregorian(months: list[tuple[str, int]], year: int, day: int) -> date | None:
    """Return the day of the first calendar that has it in Wikinews' time."""
    for calendar, number in months:
        dates = icu.Calendar.createInstance(icu.TimeZone.getGMT(), icu.Locale(f"@calendar={calendar}"))
        dates.clear()
        # Otherwise ICU would count 31 February as a day of March.
        dates.setLenient(False)
        try:
            dates.set(year, number, day)
            day_in_gregorian = datetime.fromtimestamp(dates.getTime(), UTC).date()
        except (icu.ICUError, ValueError, OverflowError, OSError):
            continue
        if FIRST_YEAR <= day_in_gregorian.year <= LAST_YEAR:
            return day_in_gregorian
    return None


class FirstSentences:
    """Finds the first sentences of the articles of one wiki."""

    def __init__(
        self, site: SiteInfo, engine: SplitterEngine, templates: Sequence[str] = (), join_abbreviations: bool = False
    ) -> None:
        """Prepare the rules of the wiki's language.

        Args:
            site: The wiki.
            engine: Sentence splitter.
            templates: Templates whose text is their second argument or else their first, such as
                `{{w|Lima|the city}}`, which links to Wikipedia. Other templates are removed.
            join_abbreviations: Continue a sentence after an abbreviation: "George W. | Bush".
        """
        self._site = site
        self._templates = frozenset(normalize_title(name, site) for name in templates)
        self._splitter = SentenceSplitter(site.language, engine)
        self.dates = Dates(site.language)
        self._abbreviations = None
        if join_abbreviations:
            self._abbreviations = Abbreviations(site.language)

    def find(self, source: str) -> str | None:
        """Return the first sentence of running prose, on one line; None if there is no prose.

        Skips headings and lists, as the paper's tool does, and lines with only a date, or a place and a date. A date at
        the start of a paragraph stays in its sentence.
        """
        for paragraph in self._paragraphs(source):
            for sentence in self._sentences(paragraph):
                if not self.dates.is_date(sentence):
                    return sentence
        return None

    def _paragraphs(self, source: str) -> Iterator[Article]:
        """Yield the paragraphs of a page with their links."""

        def text_of(template: re.Match[str]) -> str:
            """Return a template's text, or the template unchanged."""
            if normalize_title(template[1], self._site) not in self._templates:
                return template[0]
            words = [words.strip() for words in template[2].split("|") if "=" not in words]
            return next(filter(None, (*words[1:2], *words[:1])), "")

        source = _TEMPLATE.sub(text_of, source.replace(_ASIDE, ""))
        marked = _ITEM_OR_HEADING.sub(rf"\1{_ASIDE}", self._set_dates_apart(source))
        # The published data set lacks the words of all templates.
        article = parse_wikitext(marked, self._site, show=self._abbreviations is not None)
        starts = [link.start for link in article.links]
        start = 0
        for line in article.text.split("\n"):
            end = start + len(line)
            if _ASIDE not in line and not self.dates.is_place_and_date(line):
                links = article.links[bisect_left(starts, start) : bisect_left(starts, end)]
                inside = [link for link in links if link.end <= end]
                yield Article(line, [Link(link.start - start, link.end - start, link.target) for link in inside])
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
                has_digit = any(map(str.isdigit, words))
                if has_digit and (self.dates.is_date(words) or self.dates.is_place_and_date(words)):
                    lines.append("")
                    text = ""
            before = text
        return "\n".join(lines)

    def _sentences(self, paragraph: Article) -> list[str]:
        """Return the sentences of a paragraph; boundaries inside dates ("3. Mai") and abbreviations are ignored."""
        sentences: list[str] = []
        end = 0
        for sentence in split_article(paragraph, self._splitter)[0]:
            if sentences and self._continues(sentences[-1], sentence.text):
                sentences[-1] += paragraph.text[end : sentence.end]
            else:
                sentences.append(sentence.text)
            end = sentence.end
        return sentences

    def _continues(self, before: str, after: str) -> bool:
        if self._abbreviations is not None and self._abbreviations.ends(before):
            return True
        return self.dates.is_inside_date(before, after)
