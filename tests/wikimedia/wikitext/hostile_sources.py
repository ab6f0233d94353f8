"""Hostile wikitext of any length: unclosed braces and links, deep nesting, long runs of one construct."""

from __future__ import annotations

from collections.abc import Callable

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
