"""The parser functions `#expr` and `#time`, with results of MediaWiki's documentation and PHP's rules."""

from __future__ import annotations

import time

import pytest

from ease.wikimedia.wikitext.parser import parse_wikitext
from ease.wikimedia.wikitext.parser_functions import evaluate_expression, format_time

EXPRESSIONS = [
    ("1 + 2", "3"),
    ("100 * 1 / 3 round 2", "33.33"),
    ("2 + 3.5 round 0", "6"),
    ("-5 + 12", "7"),
    ("(1 + 2) * -3", "-9"),
    ("7 - 2 - 1", "4"),
    ("1.005 round 2", "1.01"),
    ("12345 round -2", "12300"),
    ("−2.5 round 0", "-3"),
    ("08 + 007", "15"),
    ("1 / 3", "0.33333333333333"),
    (" 12\n+ 3 ", "15"),
]
OTHER_EXPRESSIONS = [
    "",
    "1 +",
    "1 / 0",
    "2 ^ 3",
    "2 ** 3",
    "7 // 2",
    "1 = 1",
    "pi",
    "(1",
    "1 2",
    "__import__('os')",
    "1_0",
    "1 round 99",
]
DATES = [
    ("en", "j F Y", "1973-10-17", "17 October 1973"),
    ("ru", "j xg Y", "17 October 1973", "17 октября 1973"),
    ("ru", "F Y", "October 17, 1973", "октябрь 1973"),
    ("ja", "Y年n月j日", "1973-10-17", "1973年10月17日"),
    ("es", 'j "de" F "de" Y', "1973-01-07", "7 de enero de 1973"),
    ("es", r"j \d\e F", "1973-01-07", "7 de enero"),
    ("de", "l, d.m.Y", "1973-01-07", "Sonntag, 07.01.1973"),
]


@pytest.mark.parametrize(("expression", "result"), [*EXPRESSIONS, *((other, None) for other in OTHER_EXPRESSIONS)])
def test_expressions(expression: str, result: str | None) -> None:
    assert evaluate_expression(expression) == result


@pytest.mark.parametrize("expression", ["(" * 499, "1+" * 249 + "1", "-" * 498 + "1", "9" * 500, "1*" * 200_000])
def test_hostile_expressions_end(expression: str) -> None:
    started = time.process_time()
    evaluate_expression(expression)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(("language", "pattern", "words", "result"), DATES)
def test_dates(language: str, pattern: str, words: str, result: str) -> None:
    assert format_time(pattern, words, language) == result


@pytest.mark.parametrize(
    ("pattern", "words"),
    [("Y", ""), ("Y", "1973"), ("Y", "now"), ("Y", "1973-13-40"), ("H:i", "1973-10-17"), ("xrY", "1973-10-17")],
)
def test_other_dates_are_unknown(pattern: str, words: str) -> None:
    assert format_time(pattern, words, "en") is None


def test_functions_in_articles() -> None:
    source = (
        "It has {{formatnum:{{#expr: 1000 + 234}}}} since {{#time:j F Y|1973-10-17}} and {{#expr: {{unheard}} + 1}}."
    )
    article = parse_wikitext(source)
    assert article.text == "It has 1,234 since 17 October 1973 and."
    assert len(article.holes) == 1


@pytest.mark.parametrize(
    ("language", "name"),
    [("en", "PAGENAME"), ("en", "FULLPAGENAME"), ("ru", "НАЗВАНИЕ_СТРАНИЦЫ"), ("ja", "ページ名"), ("mr", "लेखनाव")],
)
def test_page_titles(language: str, name: str) -> None:
    source = f"{{{{{name}}}}} {{{{nowrap|({{{{{name}}}}})}}}} x"
    article = parse_wikitext(source, language, title="Lima (city)")
    assert (article.text, article.holes) == ("Lima (city) (Lima (city)) x", [])
    assert len(parse_wikitext(f"a {{{{{name}}}}} b", language).holes) == 1
    assert parse_wikitext("a {{pagename}} b", "en", title="Lima").text == "a b"
