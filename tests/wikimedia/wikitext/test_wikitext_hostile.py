"""Broken, hostile and real wikitext: no errors, linear time, right offsets."""

from __future__ import annotations

import gc
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from ease.wikimedia.dumps.files import DumpFile, Shard, read_siteinfo
from ease.wikimedia.dumps.pages import iterate_pages
from ease.wikimedia.wikitext import templates
from ease.wikimedia.wikitext.parser import Article, parse_wikitext
from ease.wikimedia.wikitext.titles import SiteInfo, redirect_target

ENGLISH = SiteInfo("en")
_INNER_MARKS = frozenset("\x01\x02\x03\x04\x05\x06\x07")


UNITS = (
    *(
        "{{lang|fr|x}}",
        "{{nowrap|",
        "{{nowrap|{{a}}",
        "{{lang|fr|[[x|",
        "{{convert|1|-|",
        "{{lang-fr|",
        "{{formatnum:1",
        "{{nowrap|[[a}}",
        "{{nowrap|[[{{a}}",
        "{{nowrap|{a ",
        "{{lang|ja|-{a",
        "{{lang-fr-",
    ),
    *("{{", "{{a|", "{{a}} ,", "({{a}}", ", {{a}})", "{{{a}}", "{{{{{", "{{|}"),
    *(
        "[[",
        "{{[[",
        "{{[[}}",
        "{{a|[[b]]",
        "[[a|",
        "[[a]",
        "[[a|[b]]]",
        "[[a|[b",
        "[[File:a|",
        "[[File:a|[[b]]",
        "]]",
    ),
    *("[http://a ", "[http://a["),
    *("\n{|\n", "\n{|\n|-\n", "\n{|\n|}", "<table>", "<table></table>", "\n|}"),
    *("<ref>", "<ref name=", "<ref", "<!--", "<nowiki>", "<nowiki>x</nowiki>", "<b ", "<b>", "[[a]]<i>"),
    "  <!-- -->  ",
    *(
        "'''a''",
        "'''a ",
        "=",
        "\n=",
        "\n==a",
        "= ",
        "-{",
        "__a",
        "&amp",
        "&#91;",
        "%41",
        " ",
        "\n*",
        "\n ",
        "* ",
        "{{a}}:",
        "&#0",
        "-{a|b",
        "-{a;",
        "}-",
    ),
)
"""Strings that a source repeats."""

NESTED = (
    *(("{{nowrap|", "x", "}}"), ("{{lang|fr|{{a}}", "x", "}}")),
    *(("{{a|", "x", "}}"), ("{{{{{", "", "}}"), ("{{", "", "}}}")),
    *(("[[a|", "x", "]]"), ("[[a|", "[[File:x.jpg]]", "]]"), ("[[a| ", "[[File:x.jpg]]", " ]]")),
    *(("[[File:a|", "x", "]]"), ("[[Category:a|", "", "]]")),
    *(("[[de:a|", "x", "]]"), ("[[wikt:a|", "x", "]]")),
    *(("[[#a|", "x", "]]"), ("[[a|[b", "", "]]]"), ("\n{|\n|", "", "\n|}"), ("({{a}}", "", ")")),
    *(("[//a ", "x", "]"), ("<table>", "x", "</table>"), ("\n== [[a|", "x", "]] ==")),
)
"""Nested sources: the repeated opening string, the middle and the repeated closing string."""

LONG: dict[str, Callable[[int], str]] = {
    "a shown template with many arguments": lambda times: f"{{{{lang{'|a' * times}}}}}",
    "shown templates with many arguments": lambda times: f"{{{{lang{'|[[a' * 400}}}}}" * max(1, times // 400),
    "a shown template with many templates": lambda times: f"{{{{nowrap|{'{{a}}' * times}}}}}",
    "spaces in an argument": lambda times: f"{{{{lang|fr|{' ' * times}}}}}",
    "spaces in a name": lambda times: f"{{{{lang{' ' * times}|fr|a{' ' * times}=b}}}}",
    "zeros of a number": lambda times: f"{{{{formatnum:0.{'0' * times}1}}}}",
    "digits of a number": lambda times: f"{{{{convert|{'1' * times}|km}}}} {{{{formatnum:{'1,' * times}}}}}",
    "digits of an entity": lambda times: f"&#{'1' * times}; [[&#{'0' * times};]] &#x{'1' * times};",
    "letters of an entity": lambda times: f"&{'a' * times};",
    "a range of many numbers": lambda times: f"{{{{convert{'|1|-' * times}|km}}}}",
    "spaces and the pipe trick": lambda times: f"[[a{' ' * (4 * times)}b|]]",
    "brackets and the pipe trick": lambda times: f"[[{'(' * (4 * times)}b)|]]",
    "pairs of brackets and the pipe trick": lambda times: f"[[a{'()' * times}b|]]",
    "links in a heading": lambda times: f"\n== {'[[a|' * times}{'x' * times}{']]' * times} ==",
    "a long label in links": lambda times: f"{'[[wikt:a|' * times}{'x' * times}{']]' * times}",
    "unclosed links in an external link": lambda times: "[//a " + "[//a]" * times,
    "references closed by one bracket": lambda times: "<ref a" * times + ">",
    "a redirect": lambda times: f"#R{' ' * times}[[{'a' * times}",
    "letters around a link": lambda times: f"{'b' * times}[[a]]{'b' * times}[[a]]",
    "dashes before a link": lambda times: f"{'-' * (4 * times)}[[a]]",
    "a word between underscores": lambda times: "__" + "a" * (4 * times),
    "a heading without words": lambda times: "=" * (4 * times) + "\n" + "'" * times,
    "the wiki's own prefix": lambda times: f"[[{'en:' * (10 * times)}a]]",
}
"""Sources with long runs of one construct, by name."""


def hostile_sources() -> dict[str, Callable[[int], str]]:
    """Return all sources by name, as functions of a length: repeated, nested and long ones."""
    return {**{repr(unit): unit.__mul__ for unit in UNITS}, **deep_sources()}


def deep_sources() -> dict[str, Callable[[int], str]]:
    """Return the nested and the long sources."""
    nested = {" … ".join(repr(part) for part in parts if part): _nest(*parts) for parts in NESTED}
    return {**nested, **LONG}


def _nest(opening: str, middle: str, closing: str) -> Callable[[int], str]:
    return lambda times: opening * times + middle + closing * times


def check(article: Article) -> None:
    """Check what holds for every article."""
    text, position = article.text, 0
    assert not _INNER_MARKS & set(text)
    assert text == "\n".join(" ".join(line.split()) for line in text.split("\n") if line.strip())
    for start, end, target in article.links:
        assert position <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        assert "\n" not in text[start:end]
        assert target == target.strip()
        assert target
        position = end


def seconds(make: Callable[[int], str], characters: int, language: str) -> float:
    """Return the processor time to parse a source, to split it into sentences and to look for its redirect."""
    text = make(max(1, 100 * characters // len(make(100))))
    site = SiteInfo(language)
    gc.disable()  # it would visit all objects of other tests
    start = time.process_time()
    article = parse_wikitext(text + "\n[[End]] of it.", site)
    article.sentences()
    redirect_target(text, site)
    spent = time.process_time() - start
    gc.enable()
    check(article)
    return spent


# In Arabic, letters on both sides belong to a link; Chinese has script variants.
GROWING = [("en", *source) for source in hostile_sources().items()]
GROWING += [("ar", *source) for source in deep_sources().items()]
GROWING += [("zh", *source) for source in hostile_sources().items() if "-{" in source[0]]


@pytest.mark.slow
@pytest.mark.parametrize(("language", "name", "make"), GROWING)
def test_time_grows_with_the_length(
    language: str, name: str, make: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten times the length takes about ten times as long; in quadratic time, it takes a hundred times as long."""
    if not name.startswith("a range"):  # no limit, so that longer arguments are read
        monkeypatch.setattr(templates, "_LONGEST_TEMPLATE", sys.maxsize)
    shorter = max(0.001, min(seconds(make, 20_000, language) for _ in range(3)))
    assert any(seconds(make, 200_000, language) < 40 * shorter for _ in range(3))


def test_text_after_an_unclosed_template_is_kept() -> None:
    article = parse_wikitext("{{Infobox\n" * 1000 + "A [[city]].\n\nMore.", ENGLISH)
    assert article.text.endswith("A city.\nMore.")
    assert [link.target for link in article.links] == ["City"]


def test_random_markup_never_fails() -> None:
    tokens = [" ", "\n", "\t", "\xa0", "http://x "]
    tokens += "{{ }} {{{ }}} [[ ]] [ ] | {| |} |- == = '' ''' -{ }- ( ) , * # : _ ---- __TOC__".split()
    tokens += "<ref> </ref> <ref/> <!-- --> <nowiki> </nowiki> <br> <table> </table> &nbsp; &amp; %41".split()
    tokens += "File:a| Category: de: word é مرحبا 漢字 😀".split() + sorted(_INNER_MARKS)
    sites = [SiteInfo(language) for language in ("en", "ar", "tr", "zh")]
    generator = random.Random(7)
    for _ in range(4000):
        source = "".join(generator.choices(tokens, k=generator.randint(1, 60)))
        check(parse_wikitext(source, generator.choice(sites)))


def test_real_pages_have_right_offsets_and_no_markup(test_data: Path) -> None:
    left: Counter[str] = Counter()
    characters = links = 0
    for path in sorted((test_data / "dumps" / "wikipedia").glob("*wiki-*pages-articles*")):
        dump = DumpFile(path, path.name.partition("wiki")[0], None)
        site = read_siteinfo(dump.path, dump.language)
        for page in iterate_pages(Shard(dump, 0, path.stat().st_size)):
            article = parse_wikitext(page.text, site)
            check(article)
            if page.namespace:  # templates and pages that explain wikitext
                continue
            left.update({mark: article.text.count(mark) for mark in ("[[", "{{", "{|", "<ref")})
            characters += len(article.text)
            links += len(article.links)
    assert characters > 5_000_000
    assert links > 50_000
    assert left.total() < 10, left
