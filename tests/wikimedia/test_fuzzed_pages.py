"""No page ends the reading of a dump: pages of real dumps with random faults."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path
from unittest.mock import patch

import pytest

from ease.wikimedia.dumps.files import read_siteinfo
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.dumps.streams import DecompressedStream
from ease.wikimedia.wikinews.editions import WIKINEWS
from ease.wikimedia.wikinews.mewsc16 import build_mewsc16
from ease.wikimedia.wikipedia import read_dump, write_shard
from tests.wikimedia.made_dumps import as_dump, as_shard
from tests.wikimedia.made_news import article, news_options

PAGES_PER_DUMP = 200
MOST_PAGE_BYTES = 6000
SOUND_END = f"{article(10**9)}</mediawiki>".encode()
"""Makes sure that there is an article for MewsC-16."""
_PAGE = re.compile(rb"<page>.*?</page>", re.DOTALL)
_NUMBER = re.compile(rb"(?<=>)\d+(?=</)")
_NUMBERS = [b"9" * 19, b"9" * 20, b"9" * 5000, b"-1", b"--5", b"0", b"1e9", b"\xd9\xa1", b" 7 ", b""]
_PIECES = [
    *b"<page> </page> <revision> </revision> <text> </text> <ns>1</ns> <ns> <id>5</id> <title> </title> &lt; &amp; "
    b"&bomb; &#0; &#x110000; &#xD800; <redirect/> <!-- --> <![CDATA[ ]]> <?a ?> {{ }} {{{ }}} [[ ]] [[a|b]] {| |} | : "
    b"'' ''' &lt;ref&gt; &lt;/ref&gt; &lt;nowiki&gt; [[File: [[Category:Weather]] #REDIRECT[[ [http:// %ff %C3 -{ }- "
    b"{{convert|1|km}} {{lang|ja| {{formatnum:1e999}} &amp;#x; &amp;#xD800; &amp;#1114112;".split(b" "),
    *(b"&amp;#" + digits + b";" for digits in _NUMBERS),
    *("\u2028 \u200f \ufffd \U0010ffff é 漢 ا".encode().split(b" ")),
    *(b"\x00", b"\x1a", b"\xff", b"\xed\xa0\x80", b"\n", b"\r", b"\t"),
]


def real_pages(path: Path) -> tuple[str, bytes, list[bytes]]:
    """Return language, header and pages of a dump; of long pages, the beginning and the end."""
    content, half = b"".join(block for _, block in DecompressedStream(path)), MOST_PAGE_BYTES // 2
    pages = [page if len(page) < 2 * half else page[:half] + page[-half:] for page in _PAGE.findall(content)]
    return path.name.partition("wiki")[0], content[: content.index(b"<page>")], pages


def mutated(page: bytes, chance: random.Random) -> bytes:
    """Return a page with one to three random faults, more often in its text."""
    for _ in range(chance.randint(1, 3)):
        first = chance.choice((0, *[page.find(b"<text")] * 3))
        start, end = sorted(chance.choices(range(max(0, first), len(page) + 1), k=2))
        piece = chance.choice(_PIECES) * chance.choice((1, 1, 1, 2, 50))
        numbers = list(_NUMBER.finditer(page))
        number = chance.choice(numbers).span() if numbers else (start, start)
        page = chance.choice(
            (
                page[:start] + piece + page[start:],
                page[:start] + piece + page[min(end, start + 20) :],
                page[:start] + bytes([chance.randrange(256)]) + page[start + 1 :],
                page[:start] + page[min(end, start + 200) :],
                page[:end] + page[start:],
                page[: number[0]] + chance.choice(_NUMBERS) + page[number[1] :],
            )
        )
    return page


@patch("ease.wikimedia.dumps.pages._MAX_FAILED_SHARE", 1)
def read_mutations(count: int, data: Path, folder: Path, seed: int = 0) -> Counter[str]:
    """Read mutated pages by each reader; return the counts of skipped pages, with the first messages of failures."""
    chance, skipped = random.Random(seed), Counter[str]()
    sources = list(map(real_pages, sorted((data / "dumps" / "wikipedia").iterdir())))
    for number in range(-(-count // PAGES_PER_DUMP)):
        language, header, pages = chance.choice(sources)
        sample = chance.choices(pages, k=min(PAGES_PER_DUMP, count - number * PAGES_PER_DUMP))
        content = header + b"\n".join(mutated(page, chance) for page in sample) + SOUND_END
        dump = as_dump(folder / f"{language}wiki-{number}-pages-articles.xml", content, language)
        site = read_siteinfo(dump.path, language)
        part = folder / str(number)
        part.mkdir()
        counts = write_shard((as_shard(dump), site, IngestOptions(splitter="icu"), None, folder), part)
        skipped.update(counts["counts"]["skipped"])
        skipped.update(fault[-100:] for fault in counts["faults"] if "Error: " in fault)
        skipped["read"] += sum(1 for _ in read_dump(dump.path))
        news = build_mewsc16([dump], news_options(topics={"Weather": {language: "Weather"}}), folder / "news", WIKINEWS)
        skipped["news failed"] += news[language]["skipped"].get("failed", 0)
        dump.path.unlink()
    return skipped


@pytest.mark.slow
def test_no_exception_leaves_a_reader(test_data: Path, tmp_path: Path) -> None:
    skipped = read_mutations(400, test_data, tmp_path)
    assert skipped["malformed"] > 40
    assert skipped["read"] > 40
