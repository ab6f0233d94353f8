"""Reading takes time in proportion to the file, also for the worst content."""

from __future__ import annotations

import bz2
import gzip
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

from ease.errors import EaseError
from ease.wikimedia.dumps.files import Shard, split_into_shards
from ease.wikimedia.dumps.options import IngestOptions
from ease.wikimedia.dumps.pages import PageTally, iterate_pages
from ease.wikimedia.dumps.siteinfo import read_siteinfo
from ease.wikimedia.dumps.sql import TableReader
from ease.wikimedia.wikidata.items import parse_lines
from ease.wikimedia.wikidata.json_dump import ingest_wikidata
from ease.wikimedia.wikidata.truthy import ingest_truthy
from tests.wikimedia.made_dumps import as_dump, make_export, make_page
from tests.wikimedia.made_tables import COLUMNS, dump, insert

SIZES = 10_000, 100_000, 1_000_000
BLOCK, END = b"1AY&SY", b"\x17rE8P\x90"
PROPERTY = b"<http://www.wikidata.org/prop/direct/P31>"


def fill(text: str | bytes, size: int) -> bytes:
    """Repeat a text up to a size."""
    content = text.encode() if isinstance(text, str) else text
    return content * (size // len(content))


def in_page(part: str, *, of: str = "TEXT") -> Callable[[int], bytes]:
    """Return a function that makes an export whose page repeats a text at a place of its XML."""
    page = make_export([make_page(1, "TITLE", "TEXT")]).encode()
    return lambda size: page.replace(of.encode(), fill(part, size))


def in_header(start: str, part: str) -> Callable[[int], bytes]:
    return lambda size: start.encode() + fill(part, size) + make_export([make_page(1, "A", "a")]).encode()


def read_pages(path: Path) -> None:
    file = as_dump(path, path.read_bytes())
    for shard in split_into_shards(file, 1 << 19):
        for _ in iterate_pages(shard, 2_000_000, PageTally(), {0}):
            pass


def read_last_shard(path: Path) -> None:
    for _ in iterate_pages(Shard(as_dump(path, path.read_bytes()), 5, 1 << 40)):
        pass


def read_table(path: Path) -> None:
    columns = {"pp_page": rb"(\d{1,18})", "pp_value": rb"'Q(\d{1,18})'"}
    for _ in TableReader(path, "page_props", columns, ("pp_propname", "wikibase_item")):
        pass


def read_json(path: Path) -> None:
    parse_lines(path.read_bytes(), 1, {"enwiki": "en"})
    ingest_wikidata(path, ["en"], IngestOptions(workers=1), path.parent / path.stem)


def read_truthy(path: Path) -> None:
    ingest_truthy(path, IngestOptions(workers=1), path.parent / path.stem)


CASES: dict[str, tuple[Callable[[Path], object], str, Callable[[int], bytes]]] = {
    "page tags": (read_pages, ".xml", lambda size: make_export([]).encode() + fill("<page>", size)),
    "page tags that never end": (read_pages, ".xml", in_page("<page ")),
    "spaces in a page's tag": (read_pages, ".xml", lambda size: b"<mediawiki><page" + b" " * size),
    "closing tags": (read_pages, ".xml", in_page("</page>")),
    "titles that never end": (read_pages, ".xml", in_page("<title>")),
    "titles in a title": (read_pages, ".xml", in_page("<title>", of="TITLE")),
    "zeros of a control character": (read_pages, ".xml", in_page("&#x0", of="TITLE")),
    "namespaces": (read_pages, ".xml", in_page("<ns>0", of="<ns>0")),
    "digits of an id": (read_pages, ".xml", in_page("9", of="1001")),
    "digits of a namespace": (read_pages, ".xml", in_page("9", of="0</ns>")),
    "attributes": (
        read_pages,
        ".xml",
        lambda size: (
            make_export([make_page(1, "A", "a")])
            .replace(" bytes=", "".join(f' a{number}=""' for number in range(size // 9)) + " bytes=")
            .encode()
        ),
    ),
    "nested elements": (read_pages, ".xml", in_page("<b>")),
    "elements": (read_pages, ".xml", in_page("<b/>")),
    "colons of a title without a namespace": (
        read_pages,
        ".xml",
        in_page("a:", of="TITLE</title>\n    <ns>0</ns>"),
    ),
    "an XML declaration": (read_siteinfo, ".xml", in_header("<?xml", " encoding = ")),
    "spaces in a header": (read_siteinfo, ".xml", in_header("", " ")),
    "declarations in a header": (read_siteinfo, ".xml", in_header("", "<!DOC")),
    "namespaces of a header": (
        read_siteinfo,
        ".xml",
        in_header("<mediawiki>", '<namespace key="--5">a</namespace>'),
    ),
    "digits of a namespace's key": (read_siteinfo, ".xml", in_header('<mediawiki><namespace key="', "9")),
    "a header in small streams": (
        read_siteinfo,
        ".xml.bz2",
        lambda size: fill(bz2.compress(b" "), size) + bz2.compress(b"<a>"),
    ),
    "small streams": (read_pages, ".xml.bz2", lambda size: fill(bz2.compress(b" "), size)),
    "small members": (read_pages, ".xml.gz", lambda size: fill(gzip.compress(b" "), size)),
    "markers of blocks": (read_pages, ".xml.bz2", lambda size: b"BZh9" + fill(BLOCK + b"some", size)),
    "markers of ends": (read_pages, ".xml.bz2", lambda size: b"BZh9" + BLOCK + fill(END + b"more", size)),
    "markers in a shard": (read_last_shard, ".xml.bz2", lambda size: b"BZh9" + fill(BLOCK + b"some", size)),
    "markers of ends in a shard": (
        read_last_shard,
        ".xml.bz2",
        lambda size: b"BZh9" + fill(END + b"some", size),
    ),
    "both markers in a shard": (
        read_last_shard,
        ".xml.bz2",
        lambda size: b"BZh9" + fill(BLOCK + b"more" + END + b"some", size),
    ),
    **{
        f"a table of {part!r}": (
            read_table,
            ".sql",
            lambda size, part=part: dump(insert(b"(1,'wikibase_item'" + fill(part, size))),
        )
        for part in (
            " ",
            "\t",
            "(",
            "(1",
            "('",
            "'",
            "''",
            "\\'",
            "(1,'",
            "('a',",
            "(1,'wikibase_item','Q1',NULL)",
            "_binary ",
            ",",
            ";",
            ") ",
            "9",
            "0x",
            "('wikibase_item',",
        )
    },
    "lines of a table": (read_table, ".sql", lambda size: dump(insert(fill("\n(1,'wikibase_item',", size)))),
    "spaces before the rows": (
        read_table,
        ".sql",
        lambda size: dump(b"INSERT INTO page_props " + fill(" ", size)),
    ),
    "spaces after the columns": (
        read_table,
        ".sql",
        lambda size: dump(b"INSERT INTO page_props (a)" + fill(" ", size)),
    ),
    "columns of a statement": (
        read_table,
        ".sql",
        lambda size: dump(b"INSERT INTO page_props (" + fill("a,", size) + b") VALUES (1)"),
    ),
    "columns of a table": (
        read_table,
        ".sql",
        lambda size: dump(insert(b"(1)"), columns=[*COLUMNS, *("a" * (size // 20))]),
    ),
    **{
        f"an item of {part!r}": (
            read_json,
            ".json",
            lambda size, part=part: b'[\n{"id":"Q1",' + fill(part, size) + b"\n]",
        )
        for part in ("[", '"a":{', '"', "\\u", "9", ",", '"sitelinks":', '"id":"Q1",', "\n", "]", " ", "{}\n")
    },
    **{
        f"statements of {part!r}": (
            read_truthy,
            ".nt",
            lambda size, part=part: (
                b"<a" + fill(part, size // 2) + b" " + PROPERTY + b" " + fill(part, size // 2)
            ),
        )
        for part in (
            "_:",
            "_:a ",
            "<a",
            "<a> ",
            " ",
            ".",
            " .",
            "\n",
            PROPERTY,
            b" " + PROPERTY,
            b"_:" + PROPERTY + b" ",
        )
    },
}


def seconds(read: Callable[[Path], object], path: Path) -> float:
    began = time.process_time()
    with suppress(EaseError):
        read(path)
    return time.process_time() - began


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_time_grows_with_the_size(tmp_path: Path, case: str) -> None:
    read, suffix, make = CASES[case]
    spent = []
    for size in SIZES:
        path = tmp_path / f"enwiki-{size}{suffix}"
        path.write_bytes(make(size))
        spent.append(seconds(read, path))
    for smaller, larger in pairwise(spent):
        assert larger < 0.2 + 30 * smaller, spent
