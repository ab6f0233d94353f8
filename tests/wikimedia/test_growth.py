"""Reading takes time in proportion to the file, also for the worst content."""

from __future__ import annotations

import bz2
import gc
import gzip
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from ease.errors import EaseError
from ease.wikimedia.dumps.files import Shard, read_siteinfo, split_into_shards
from ease.wikimedia.dumps.pages import iterate_pages
from ease.wikimedia.wikidata import PageItemReader, ingest_truthy, ingest_wikidata, parse_lines
from tests.wikimedia.made_dumps import ONE, as_dump, make_export, make_page
from tests.wikimedia.made_tables import dump, insert

SIZES = 10_000, 100_000
read_all: Callable[[Iterable[object]], object] = partial(deque, maxlen=0)
BLOCK, END = b"1AY&SY", b"\x17rE8P\x90"
PROPERTY = b"<http://www.wikidata.org/prop/direct/P31>"
EXPORT = make_export([make_page(1, "TITLE", "TEXT")]).encode()


def read_pages(path: Path) -> None:
    for shard in split_into_shards(as_dump(path, path.read_bytes()), 1 << 19):
        read_all(iterate_pages(shard, 2_000_000, namespaces={0}))


def read_last_shard(path: Path) -> None:
    read_all(iterate_pages(Shard(as_dump(path, path.read_bytes()), 5, 1 << 40)))


def read_json(path: Path) -> None:
    parse_lines(path.read_bytes(), 1, {"enwiki": "en"})
    ingest_wikidata(path, ["en"], ONE, path.with_suffix(""))


def read_truthy(path: Path) -> None:
    ingest_truthy(path, ONE, path.with_suffix(""))


Case = tuple[Callable[[Path], object], str, bytes, bytes, bytes]
"""A reader, the suffix of a file, its beginning, what is repeated, and its end."""


def in_page(place: str, part: str) -> Case:
    """Return a page in which a part is repeated at a place of its XML."""
    before, match, after = EXPORT.partition(place.encode())
    assert match
    return read_pages, ".xml", before, part.encode(), after


def in_table(part: str, before: bytes = insert(b"(1,'wikibase_item'")[:-2]) -> Case:
    start, _, end = dump(b"HERE").partition(b"HERE")
    return lambda path: read_all(PageItemReader(path)), ".sql", start + before, part.encode(), b";\n" + end


CASES: dict[str, Case] = {
    "page tags": (read_pages, ".xml", make_export([]).encode(), b"<page>", b""),
    "spaces in a page's tag": (read_pages, ".xml", b"<mediawiki><page", b" ", b""),
    **{f"TEXT with {part}": in_page("TEXT", part) for part in "<page <title> <b> &amp;".split()},
    **{f"TITLE with {part}": in_page("TITLE", part) for part in "&#x0 a: <ns>0".split()},
    "digits of a namespace": in_page("0</ns>", "9"),
    **{
        f"a header of {before!r} and {part!r}": (read_siteinfo, ".xml", before, part, EXPORT)
        for before, part in {b"": b" ", b"<mediawiki>": b'<namespace key="--5">a</namespace>', b"<": b"!DOC"}.items()
    },
    "small streams": (read_pages, ".xml.bz2", b"", bz2.compress(b" "), b""),
    "small members": (read_pages, ".xml.gz", b"", gzip.compress(b" "), b""),
    "markers of blocks": (read_pages, ".xml.bz2", b"BZh9", BLOCK + b"some", b""),
    "markers of ends": (read_pages, ".xml.bz2", b"BZh9" + BLOCK, END + b"more", b""),
    "both markers in a shard": (read_last_shard, ".xml.bz2", b"BZh9", BLOCK + b"more" + END + b"some", b""),
    **{f"a table of {part!r}": in_table(part) for part in [" ", *"( ' \\' (1,' ('a', ; 0x".split()]},
    "rows of a table": in_table("(1,'wikibase_item','Q1',NULL)"),
    "broken rows of a table": in_table("('wikibase_item',"),
    "lines of a table": in_table("\n(1,'wikibase_item',"),
    "columns of a statement": in_table("a,", b"INSERT INTO page_props ("),
    **{
        f"an item of {part!r}": (read_json, ".json", b'[\n{"id":"Q1",', part.encode(), b"\n]")
        for part in ("[", '"a":{', '"', '"sitelinks":', "\n", "{}\n")
    },
    **{
        f"{name} with {part!r}": (read_truthy, ".nt", before, part.encode(), after)
        for part in ("_:a ", " ", "\n", f"{PROPERTY.decode()} ")
        for name, before, after in [
            ("a subject", b"<a> .\n_:", b" " + PROPERTY + b" <a> ."),
            ("a value", b"<a> " + PROPERTY + b" _:", b" ."),
        ]
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_time_grows_with_the_size(tmp_path: Path, case: str) -> None:
    read, suffix, before, part, after = CASES[case]
    spent = []
    for size in SIZES:
        path = tmp_path / f"enwiki-{size}{suffix}"
        path.write_bytes(before + part * (size // len(part)) + after)
        gc.disable()  # it would visit all objects of other tests
        began = time.process_time()
        with suppress(EaseError):
            read(path)
        spent.append(time.process_time() - began)
        gc.enable()
    assert spent[1] < 0.1 + 30 * spent[0], spent
