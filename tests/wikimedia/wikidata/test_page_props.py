"""Items of pages from the wikis' page_props tables, whose rows are compared with those of an SQL parser."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from sqlglot import expressions

from ease.errors import EaseError
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.languages import Language
from ease.wikimedia.wikidata import PageItemParts, PageItemReader, find_page_props, ingest_page_props
from tests.wikimedia.made_dumps import PACK, rows
from tests.wikimedia.made_tables import dump, insert, item, write


def ingest(folder: Path, content: bytes, languages: tuple[str, ...] = ("en",), **options: Any) -> PageItemParts:
    for language in languages:
        write(folder, content, f"{Language(language).database}wiki-20240101-page_props.sql.gz")
    files = find_page_props([folder], dict.fromkeys(languages))
    return ingest_page_props(files, IngestOptions(**{"workers": 1, **options}), folder / "parts")


def test_items_of_pages_by_language_whatever_the_workers(tmp_path: Path) -> None:
    content = dump(insert(item(1, 5), b"(1,'x','y',NULL)", item(2, 64)))
    first, parts = (ingest(tmp_path / str(count), content, ("en", "be-tarask"), workers=count) for count in (1, 2))
    assert [path.read_bytes() for path in parts.page_items] == [path.read_bytes() for path in first.page_items]
    assert rows(parts.page_items) == [
        {"language": language, "page_id": page, "qid": qid}
        for language in ("en", "be-tarask")
        for page, qid in ((1, 5), (2, 64))
    ]
    file = "enwiki-20240101-page_props.sql.gz"
    counts = {"page_items": 2, "broken_rows": 0, "truncated": False, "file": file, "date": "20240101"}
    assert parts.counts["en"] == counts


def test_finds_the_newest_and_fastest_file_of_each_language(tmp_path: Path) -> None:
    for name in (
        "enwiki/20240101/enwiki-20240101-page_props.sql.gz",
        "enwiki/20240201/enwiki-20240201-page_props.sql.gz",
        "enwiki/20240201/enwiki-20240201-page_props.sql",
        "20231201/be_x_oldwiki-latest-page_props.sql.bz2",
        "enwikinews-20240301-page_props.sql.gz",
        "enwiki-20240301-page.sql.gz",
        "simplewiki-20240301-page_props.sql",
    ):
        write(tmp_path, b"", name)

    def tables(*languages: str) -> list[tuple[str, str, str | None]]:
        files = find_page_props([tmp_path], dict.fromkeys(languages))
        return [(file.language, str(file.path.relative_to(tmp_path)), file.dump_date) for file in files]

    assert tables("be-tarask", "en") == [
        ("be-tarask", "20231201/be_x_oldwiki-latest-page_props.sql.bz2", "20231201"),
        ("en", "enwiki/20240201/enwiki-20240201-page_props.sql", "20240201"),
    ]
    with pytest.raises(EaseError, match=rf"no page_props table of de, fr in {tmp_path}: .*`wikidata_titles` to json"):
        tables("en", "de", "fr")
    write(tmp_path, b"", "enwiki-latest-page_props.sql.gz")
    with pytest.raises(EaseError, match=r"20240201-page_props.sql.*, and one without, \S+latest-page_props"):
        tables("en")


ESCAPED = {
    **{b"\\": b"\\\\", b"'": b"\\'", b'"': b'\\"'},
    **{b"\0": b"\\0", b"\n": b"\\n", b"\r": b"\\r", b"\x1a": b"\\Z"},
}
HOSTILE = [
    *(b"'", b"\\", b'"', b"\0", b"\n", b"\r", b"\x1a", b"\xff", b"\xc3", "é".encode(), "東".encode()),
    *b"( ) , ; ),( ); wikibase_item 'wikibase_item' (9,'wikibase_item','Q9',NULL) -- /* NULL x 1".split(),
]


Row = tuple[bytes, bytes]


def rows_of(reader: PageItemReader) -> list[Row]:
    return [row for rows in reader for row in rows]


def quote(value: bytes) -> bytes:
    return b"'" + b"".join(ESCAPED.get(bytes([byte]), bytes([byte])) for byte in value) + b"'"


def hostile_rows(seed: int, number: int) -> list[bytes]:
    """Return rows with misleading values; every third row has an item."""
    rng = random.Random(seed)
    rows = []
    for page in range(1, number + 1):
        if page % 3 == 0:
            rows.append(item(page, rng.randrange(1, 10**9)))
            continue
        value = b"".join(rng.choices(HOSTILE, k=rng.randrange(12)))
        name = rng.choice((b"displaytitle", b"page_image", b"wikibase_item_x", b"x'wikibase_item"))
        sort_key = rng.choice((b"NULL", b"0", b"-1.5", b"1e+15", b"2.5e-3"))
        rows.append(b"(%d,%s,%s,%s)" % (page, quote(name), quote(value), sort_key))
    return rows


def parsed_by_sqlglot(statement: bytes) -> list[Row]:
    """Return page and value of the rows of wikibase_item, read by an independent parser."""
    tree = sqlglot.parse_one(statement.decode("latin-1").rstrip(";\n"), read="mysql")
    pairs: list[Row] = []
    for row in tree.find_all(expressions.Tuple):
        page, name, value, _ = row.expressions
        if name.this == "wikibase_item":
            pairs.append((page.this.encode("latin-1"), value.this.encode("latin-1")[1:]))
    return pairs


def test_rows_agree_with_an_sql_parser(tmp_path: Path) -> None:
    statements = [insert(*hostile_rows(seed, 120)) for seed in range(5)]
    reader = PageItemReader(write(tmp_path, dump(*statements)))
    expected = [row for statement in statements for row in parsed_by_sqlglot(statement)]
    assert len(expected) == 5 * 40
    assert rows_of(reader) == expected
    assert (reader.broken_rows, reader.truncated) == (0, False)


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("block_bytes", [97, 1 << 20])
def test_packings_and_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packing: str, block_bytes: int) -> None:
    monkeypatch.setattr("ease.wikimedia.dumps.streams.BLOCK_BYTES", block_bytes)
    rows = hostile_rows(7, 300)
    path = write(tmp_path, dump(insert(*rows[:100]), insert(*rows[100:])), f"x-page_props.sql{packing}")
    assert rows_of(PageItemReader(path)) == parsed_by_sqlglot(insert(*rows))


def test_broken_rows_are_counted_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    parts = b"2,'wikibase_item','2',NULL 3,'wikibase_item',Q3,NULL 4,'wikibase_item','Q4',NULL,NULL".split()
    broken = [b"(%s)" % part for part in parts]
    last = insert(*[broken[0], item(6, 6)] * 9, b"(7,'wikibase_item','P7',NULL)")
    reader = PageItemReader(write(tmp_path, dump(insert(item(1, 1), *broken, item(5, 5)), last)))
    assert [page for page, _ in rows_of(reader)] == [b"1", b"5", *[b"6"] * 9]
    assert reader.broken_rows == 3 + 9 + 1
    assert "page_props.sql: 13 rows cannot be read" in caplog.text


@pytest.mark.parametrize("packing", PACK)
def test_a_truncated_file_gives_the_rows_before_the_cut(tmp_path: Path, packing: str) -> None:
    rng = random.Random(3)
    rows = [item(page, rng.randrange(1, 10**9)) for page in range(1, 30_000)]
    path = write(tmp_path, dump(insert(*rows[:20_000]), insert(*rows[20_000:])), f"cut.sql{packing}")
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 3 // 4])
    reader = PageItemReader(path)
    pages = [int(page) for page, _ in rows_of(reader)]
    assert (reader.truncated, reader.broken_rows) == (True, 0)
    assert pages == list(range(1, len(pages) + 1))
    assert 10_000 < len(pages) < 29_999


def test_files_that_are_not_dumps_of_the_table_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EaseError, match="is not a dump of a table `page_props`"):
        rows_of(PageItemReader(write(tmp_path, b"not found")))


@pytest.mark.parametrize(
    "row", [b"('wikibase_item',1,'Q5')", b"(1,'Q5','wikibase_item')", b"('1','wikibase_item','Q5')"]
)
def test_a_table_with_other_columns_is_refused(tmp_path: Path, row: bytes) -> None:
    path = write(tmp_path, dump(insert(row)))
    with pytest.raises(EaseError, match=r"has rows in another form than \(pp_page, 'wikibase_item', pp_value"):
        rows_of(PageItemReader(path))
