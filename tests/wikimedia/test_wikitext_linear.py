"""Wikitext that is long in one place, nested or not, is read in linear time."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from ease.wikimedia.titles import SiteInfo
from ease.wikimedia.wikitext import parse_wikitext

SOURCES: dict[str, Callable[[int], str]] = {
    "an image alone in links": lambda n: "[[a|" * n + "[[File:x.jpg]]" + "]]" * n,
    "spaces and an image in links": lambda n: "[[a| " * n + "[[File:x.jpg]]" + " ]]" * n,
    "links in a heading": lambda n: "\n== " + "[[a|" * n + "x" * n + "]]" * n + " ==",
    "links to another wiki": lambda n: "[[wikt:a|" * n + "x" * n + "]]" * n,
    "spaces and the pipe trick": lambda n: "[[a" + " " * (4 * n) + "b|]]",
    "brackets and the pipe trick": lambda n: "[[" + "(" * (4 * n) + "b)|]]",
}


def seconds(source: str, site: SiteInfo) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        parse_wikitext(source, site)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("case", SOURCES)
@pytest.mark.parametrize("language", ["en", "ar", "zh"])
def test_nested_and_long_markup_takes_linear_time(case: str, language: str) -> None:
    source, site = SOURCES[case], SiteInfo(language)
    short, long = seconds(source(5_000), site), seconds(source(20_000), site)
    # Four times the input takes sixteen times as long in quadratic time; 20 ms are lost in noise.
    assert long < 9 * short + 0.02
