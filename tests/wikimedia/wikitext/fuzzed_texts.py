"""Compare the compiled functions with the Python functions on random wikitext.

python -m tests.wikimedia.wikitext.fuzzed_texts --texts 1000000
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from types import ModuleType
from typing import Any
from unittest.mock import patch

from ease.wikimedia.wikitext import article, markup, parser, prose, sentences, spans
from ease.wikimedia.wikitext.article import split_prose
from ease.wikimedia.wikitext.parser import read_prose
from ease.wikimedia.wikitext.sentences import SentenceSplitter
from ease.wikimedia.wikitext.titles import SiteInfo

_WORDS = r"""
{{ {{{ }} }}} {{!}} {{a|b {{c}} {| |} |- | || ! <br> <b> </b> <ref>a</ref> <nowiki>[[a]]</nowiki> <!--a-->
' '' ''' '''' ''''' '''''' ''a'' '''b''' l'''a'' [http://a b] [http://c]
[[A]] [[b]]s [[i]] [[ß]] [[É]]x [[é|e]]é [[a.b]] [[a. [[St. b]] [[St. X|y]] [[a_b|c]]s [[a|''b'']] [[漢]]字 [[a|😀]]'a
[[ ]] [[A|]] [[A|b [[|x]] [[File:a|b [[a#b|c]] [[:en:a]] [[Category:a]] [[a.]] [[a/b]] [[a]]-b [[Ⅳ]] [[ǆ]]
( ) [ ] （ ） “ « ” » , . ; : ! ? - – — / 、 ، 。 a B c. é 漢 😀 Dr. &nbsp; &amp; ا ---- =
"""
_MARKS = [
    "\x04",
    "\x05",
    "\x04\x04",
    "\x05\x05",
    "(\x05)",
    "[\x05]",
    "（\x05）",
    "(,\x05",
    "\x05,)",
    "[[\x05]]",
    "\x00",
    *("\x06", "\n\x06", "\x07", "\n\x07", "\n\x07= a ="),
]
_UNUSUAL = ["[[e\u0301]]", "[[a\u200eb]]", "\ufffd", "\u0301"]
_SPACES = [" ", "  ", "\t", "\xa0", "\x85", "\x1c", "\u3000", "\u2028", "\u200b", " a b ", " U.S. A. "]
_LINES = ["\n", "\n\n", "\n=", "\n== a ==\n", "\n* ", "\n#:", "\n;a", "\n: ", "\n----", "\n-", "\n\t", "\n  "]
_FRAGMENTS = [*_WORDS.split(), *_MARKS, *_UNUSUAL, *_SPACES, *_LINES, f"[[{'a' * 63}]]", f"[[{'b' * 64}]]"]
_LANGUAGES = ("en", "it", "tr", "ar", "de", "zh", "fr", "cs")
SITES = [SiteInfo(language) for language in _LANGUAGES] + [SiteInfo("en", case="case-sensitive")]
_CHOSEN: dict[ModuleType, dict[str, ModuleType]] = {
    parser: {
        "cut_templates": markup,
        "strip_quotes": markup,
        "normalize_gaps": prose,
        "join_blocks": prose,
        "skip_plain_links": spans,
    },
    sentences: {"cut_sentences": spans},
    article: {"sentences_of_links": spans},
}
"""Where the functions with a compiled form are used, and where their Python forms are."""


def random_texts(count: int, seed: int = 0) -> Iterator[str]:
    """Yield texts of 1 to 40 fragments; most have few different ones, so that patterns of several fragments occur."""
    generator = random.Random(seed)
    for _ in range(count):
        few = generator.choices(_FRAGMENTS, k=generator.choice((3, 6, 12, 40)))
        yield "".join(generator.choices(few, k=generator.randint(1, 40)))


def compare_passes(text: str, compiled: ModuleType) -> Counter[str]:
    """Assert that both forms of each pass give the same text; return the passes that changed it."""
    changed: Counter[str] = Counter()
    for name, module in _CHOSEN[parser].items():
        if name != "skip_plain_links":
            expected = getattr(module, name)(text)
            found = getattr(compiled, name)(text)
            assert found == expected, (name, text, found, expected)
            changed[name] += found != text
    return changed


def compare_spans(text: str, generator: random.Random, compiled: ModuleType) -> None:
    """Assert that both forms find the same sentences, and the same sentences of links, for random boundaries."""
    boundaries = sorted(generator.choices(range(len(text) + 1), k=generator.randint(0, 6)))
    starts, found = spans.cut_sentences(text, boundaries)
    assert compiled.cut_sentences(text, boundaries) == (starts, found), (text, boundaries)
    ends = [start + len(sentence) for start, sentence in zip(starts, found, strict=True)]
    links = [sorted(generator.choices(range(len(text) + 1), k=2)) for _ in range(generator.randint(0, 4))]
    columns = (starts, ends, [start for start, _ in links], [end for _, end in links])
    assert compiled.sentences_of_links(*columns) == spans.sentences_of_links(*columns), columns


def parse_with(module: ModuleType | None, text: str, site: SiteInfo, splitter: SentenceSplitter) -> Any:
    """Return the sentences and links of a page, read with the functions of a module, or with the Python functions."""
    with ExitStack() as stack:
        for user, functions in _CHOSEN.items():
            for name, python in functions.items():
                stack.enter_context(patch.object(user, name, getattr(module or python, name)))
        found = read_prose(text, site)
        return found, split_prose(found, splitter)


def compare_forms(count: int, compiled: ModuleType, seed: int = 0) -> Counter[str]:
    """Compare both forms on random texts; return how many texts each pass changed, and how many have links."""
    generator = random.Random(seed)
    splitters = [SentenceSplitter(site.language, "icu") for site in SITES]
    changed: Counter[str] = Counter()
    for text in random_texts(count, seed):
        changed += compare_passes(text, compiled)
        compare_spans(text, generator, compiled)
        page = "".join(char for char in text if char not in "\x00\x04\x05\x06\x07")
        number = generator.randrange(len(SITES))
        expected = parse_with(None, page, SITES[number], splitters[number])
        assert parse_with(compiled, page, SITES[number], splitters[number]) == expected, (SITES[number], page)
        changed["links"] += bool(expected[0].targets)
    return changed


def main() -> None:
    """Compare as many texts as the arguments ask for."""
    from ease.wikimedia.wikitext.compiled import _scanner

    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--texts", type=int, default=1_000_000)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    changed = compare_forms(given.texts, _scanner, given.seed)
    print(f"{given.texts} texts are read equally; changed by pass: {dict(changed)}")  # noqa: T201


if __name__ == "__main__":
    main()
