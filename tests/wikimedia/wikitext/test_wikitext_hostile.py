"""Broken, hostile and real wikitext: no errors, linear time, right offsets."""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from ease.wikimedia.dumps.files import DumpFile, Shard, read_siteinfo
from ease.wikimedia.dumps.pages import iterate_pages
from ease.wikimedia.wikitext import template_replacement
from ease.wikimedia.wikitext.parser import parse_wikitext
from ease.wikimedia.wikitext.titles import SiteInfo, redirect_target
from tests.wikimedia.wikitext.checks import check_article

ENGLISH = SiteInfo("en")

UNITS = [
    *r"""{{lang|fr|x}} {{nowrap| {{nowrap|{{a}} {{lang|fr|[[x| {{convert|1|-| {{lang-fr| {{formatnum:1 {{nowrap|[[a}}
    {{nowrap|[[{{a}} {{lang|ja|-{a {{lang-fr- {{ {{a| ({{a}} {{{a}} {{{{{ {{|} [[ {{[[ {{[[}} {{a|[[b]] [[a| [[a]
    [[a|[b]]] [[a|[b [[File:a| [[File:a|[[b]] ]] [http://a[ <table> <table></table> <ref> <ref <!-- <nowiki>
    <nowiki>x</nowiki> <b> [[a]]<i> '''a'' = -{ __a &amp &#91; %41 {{a}}: &#0 -{a|b -{a; }-""".split(),
    *("{{a}} ,", ", {{a}})", "{{nowrap|{a ", "[http://a ", "<ref name=", "<b ", "  <!-- -->  ", "'''a ", "= ", " "),
    *("\n{|\n", "\n{|\n|-\n", "\n{|\n|}", "\n|}", "\n=", "\n==a", "\n*", "\n ", "* "),
]
"""Strings that a source repeats."""

NESTED = (
    *(("{{nowrap|", "x", "}}"), ("{{lang|fr|{{a}}", "x", "}}")),
    *(("{{a|", "x", "}}"), ("{{{{{", "", "}}"), ("{{", "", "}}}")),
    *(("[[a|", "x", "]]"), ("[[a| ", "[[File:x.jpg]]", " ]]")),
    *(("[[File:a|", "x", "]]"), ("[[Category:a|", "", "]]")),
    ("[[de:a|", "x", "]]"),
    *(("[[#a|", "x", "]]"), ("[[a|[b", "", "]]]"), ("\n{|\n|", "", "\n|}"), ("({{a}}", "", ")")),
    *(("[//a ", "x", "]"), ("<table>", "x", "</table>"), ("\n== [[a|", "x", "]] ==")),
)
"""Nested sources: the repeated opening string, the middle and the repeated closing string."""

LONG: dict[str, Callable[[int], str]] = {
    "a shown template with many arguments": lambda times: f"{{{{lang{'|a' * times}}}}}",
    "a shown template with many templates": lambda times: f"{{{{nowrap|{'{{a}}' * times}}}}}",
    "spaces in a name": lambda times: f"{{{{lang{' ' * times}|fr|a{' ' * times}=b}}}}",
    "zeros of a number": lambda times: f"{{{{formatnum:0.{'0' * times}1}}}}",
    "digits of a number": lambda times: f"{{{{convert|{'1' * times}|km}}}} {{{{formatnum:{'1,' * times}}}}}",
    "digits of an entity": lambda times: f"&#{'1' * times}; [[&#{'0' * times};]] &#x{'1' * times};",
    "a range of many numbers": lambda times: f"{{{{convert{'|1|-' * times}|km}}}}",
    "spaces and the pipe trick": lambda times: f"[[a{' ' * (4 * times)}b|]]",
    "brackets and the pipe trick": lambda times: f"[[{'(' * (4 * times)}b)|]]",
    "links in a heading": lambda times: f"\n== {'[[a|' * times}{'x' * times}{']]' * times} ==",
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


def _nest(opening: str, middle: str, closing: str) -> Callable[[int], str]:
    return lambda times: opening * times + middle + closing * times


DEEP = {" … ".join(repr(part) for part in parts if part): _nest(*parts) for parts in NESTED} | LONG
SOURCES = {repr(unit): unit.__mul__ for unit in UNITS} | DEEP
"""All sources, as functions of a length"""


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
    check_article(article)
    return spent


# In Arabic, letters on both sides belong to a link; Chinese has script variants.
GROWING = [("en", *source) for source in SOURCES.items()]
GROWING += [("ar", *source) for source in LONG.items() if "link" in source[0]]
GROWING += [("zh", *source) for source in SOURCES.items() if "-{" in source[0]]


@pytest.mark.slow
@pytest.mark.parametrize(("language", "name", "make"), GROWING)
def test_linear_time(language: str, name: str, make: Callable[[int], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times the length takes about ten times as long; in quadratic time, it takes a hundred times as long."""
    if not name.startswith("a range"):  # no limit, so that longer arguments are read
        monkeypatch.setattr(template_replacement, "_LONGEST_TEMPLATE", sys.maxsize)
    shorter = max(0.001, min(seconds(make, 10_000, language) for _ in range(3)))
    assert any(seconds(make, 100_000, language) < 40 * shorter for _ in range(3))


def test_real_pages_have_right_offsets_and_no_markup(test_data: Path) -> None:
    left: Counter[str] = Counter()
    characters = links = 0
    for path in sorted((test_data / "dumps" / "wikipedia").glob("*wiki-*pages-articles*")):
        dump = DumpFile(path, path.name.partition("wiki")[0], None)
        site = read_siteinfo(dump.path, dump.language)
        for page in iterate_pages(Shard(dump, 0, path.stat().st_size)):
            article = parse_wikitext(page.text, site)
            check_article(article)
            if page.namespace:  # templates and pages that explain wikitext
                continue
            left.update({mark: article.text.count(mark) for mark in ("[[", "{{", "{|", "<ref")})
            characters += len(article.text)
            links += len(article.links)
    assert characters > 5_000_000
    assert links > 50_000
    assert left.total() < 10, left
