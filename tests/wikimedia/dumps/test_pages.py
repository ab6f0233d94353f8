"""Read pages from the XML of dumps."""

from __future__ import annotations

import bz2
import tracemalloc
from pathlib import Path

import pytest

from ease.errors import EaseError
from ease.wikimedia.dumps.files import DumpFile, Shard
from ease.wikimedia.dumps.pages import Page, PageTally, iterate_pages
from tests.wikimedia.made_dumps import article, as_dump, as_shard, made, make_export, make_page


def read_export(path: Path, export: str, max_page_bytes: int = 20_000_000) -> tuple[list[Page], PageTally]:
    tally = PageTally()
    dump = as_dump(path / "enwiki-1-pages-articles.xml", export.encode("utf-8", "surrogateescape"))
    return list(iterate_pages(as_shard(dump), max_page_bytes, tally)), tally


@pytest.mark.parametrize("version", ["0.8", "0.11"])
def test_reads_each_schema(tmp_path: Path, version: str) -> None:
    text = "Ünïcode < & > [[link]] 😀\nline"
    ((page,), _) = read_export(tmp_path, make_export([make_page(7, "A & B", text, redirect='"C"')], version=version))
    assert page == Page(7, "A & B", 0, 1007, '"C"', text, "wikitext", "2024-01-01T00:00:00Z")


def test_pages_of_other_namespaces_have_no_text_and_it_is_not_parsed(tmp_path: Path) -> None:
    talk = make_page(2, "Talk:A & B", "x</page-", namespace=1, redirect="Talk:C")
    path = tmp_path / "enwiki-1-pages-articles.xml"
    dump = as_dump(path, make_export([article(1), talk.replace("x&lt;", "<unclosed>&bomb;"), article(3)]).encode())
    tally = PageTally()
    first, second, third = iterate_pages(as_shard(dump), tally=tally, namespaces={0})
    assert second == Page(2, "Talk:A & B", 1, 0, "Talk:C", "", "wikitext", "")
    assert [first, third] == [page for page in iterate_pages(as_shard(dump)) if page.namespace == 0]
    assert (tally.seen, tally.skipped) == (3, {})


def test_dumps_without_namespaces_of_pages(tmp_path: Path) -> None:
    titles = {
        **{"Talk:A": 1, "user talk:B": 3, "User_talk:B": 3, "Berkas:C.jpg": 6, "berkas:C.jpg": 6},
        **{"Image:C.jpg": 6, "Star Wars: D": 0, "Talk": 0, ":E": 0},
    }
    pages = [make_page(number, title, "text").replace("    <ns>0</ns>\n", "") for number, title in enumerate(titles, 1)]
    read_pages, tally = read_export(tmp_path, make_export(pages, version="0.5"))
    assert {page.title: page.namespace for page in read_pages} == titles
    assert not tally.skipped
    articles = iterate_pages(as_shard(DumpFile(tmp_path / "enwiki-1-pages-articles.xml", "en", None)), namespaces={0})
    assert [page.text for page in articles] == ["" if number else "text" for number in titles.values()]


@pytest.mark.slow
def test_an_oversized_page_is_skipped_without_being_held_in_memory(tmp_path: Path) -> None:
    """Write 100 MB in one page, highly compressed."""
    content = make_export([article(1), make_page(2, "Huge", "HERE"), article(3)]).encode()
    packed = bz2.compress(content.replace(b"HERE", b"a" * 100_000_000), 1)
    dump, tally = as_dump(tmp_path / "enwiki-1-pages-articles.xml.bz2", packed), PageTally()
    tracemalloc.start()
    read_pages = list(iterate_pages(as_shard(dump), tally=tally))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [page.title for page in read_pages] == ["Article 1", "Article 3"]
    assert tally.skipped == {"too_large": 1}
    assert tally.faults == ["page 'Huge' is skipped: it has more than 20,000,000 bytes"]
    assert not tally.truncated
    assert peak < 60_000_000


BROKEN = {
    "text": make_page(2, "Broken", "text").replace("</text>", "</txt>"),
    "unclosed": make_page(2, "Broken", "text").replace("  </page>\n", ""),
    "control": make_page(2, "Broken", "te\x02xt"),
    "id": make_page(2, "Broken", "text").replace("<id>2</id>", "<id>two</id>"),
    "large revision": make_page(2, "Broken", "text").replace("<id>1002</id>", f"<id>{2**63}</id>"),
    "revision": "  <page><title>Broken</title><ns>0</ns><id>2</id></page>\n",
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_page_is_skipped_and_the_rest_read(tmp_path: Path, fault: str) -> None:
    export = make_export([article(1), BROKEN[fault], article(3)])
    pages, tally = read_export(tmp_path, export)
    assert [page.page_id for page in pages] == [1, 3]
    assert tally.skipped == {"malformed": 1}
    assert tally.faults[0].startswith("page 'Broken' is skipped: ")
    assert not tally.truncated


def test_too_many_broken_pages_stop_the_reading(tmp_path: Path) -> None:
    pages = [article(number) for number in range(1, 90)]
    _, tally = read_export(tmp_path, make_export(pages + [BROKEN["text"]] * 9))
    assert tally.skipped == {"malformed": 9}
    with pytest.raises(EaseError, match=r"articles.xml: 11 of the first 100 pages .* cannot be read \(page 'Broken'"):
        read_export(tmp_path, make_export(pages + [BROKEN["text"]] * 20))


def test_a_page_at_the_first_byte_of_a_shard_is_read_by_that_shard_alone(tmp_path: Path) -> None:
    dump = made(tmp_path, *map(article, range(1, 4)))
    content = dump.path.read_bytes()
    start = content.index(b"<page>", content.index(b"Article 1"))
    shards = Shard(dump, 0, start), Shard(dump, start, len(content))
    assert [[page.page_id for page in iterate_pages(shard)] for shard in shards] == [[1], [2, 3]]


def test_a_page_tag_may_have_attributes(tmp_path: Path) -> None:
    export = make_export([article(1), article(2)]).replace("<page>", f'<page xml:space="preserve" note="{"x" * 99}">')
    pages, tally = read_export(tmp_path, export)
    assert [page.page_id for page in pages] == [1, 2]
    assert not tally.truncated


def test_elements_with_a_prefix_are_refused(tmp_path: Path) -> None:
    export = make_export([article(1)]).replace("<page>", "<mw:page>").replace("</page>", "</mw:page>")
    with pytest.raises(EaseError, match=r"articles\.xml has pages in elements <mw:page>.* remove the prefix"):
        read_export(tmp_path, export)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<slot>Words.</slot>", "its revision has no <text>, but <slot>"),
        ('<text bytes="6" id="7" />', "its <text> is empty but has bytes"),
        ("", "its revision has no <text>, but <"),
    ],
)
def test_a_page_without_its_text_is_skipped_as_malformed(tmp_path: Path, text: str, message: str) -> None:
    before, _, rest = make_page(1, "A", "Words.").partition("<text")
    export = make_export([before + text + rest.partition("</text>")[2], article(2)])
    pages, tally = read_export(tmp_path, export)
    assert [page.page_id for page in pages] == [2]
    assert tally.skipped == {"malformed": 1}
    assert message in tally.faults[0]


@pytest.mark.parametrize("text", ['<text bytes="0" />', '<text deleted="deleted" />', "<text></text>"])
def test_an_empty_text_is_no_fault(tmp_path: Path, text: str) -> None:
    before, _, rest = make_page(1, "A", "Words.").partition("<text")
    (page,), tally = read_export(tmp_path, make_export([before + text + rest.partition("</text>")[2]]))
    assert page.text == ""
    assert not tally.skipped


def with_revisions(*revisions: tuple[int, str]) -> str:
    """Return a page with revisions: number and day of January 2024, no time, or words."""
    before, start, rest = make_page(1, "A", "Words.").partition("    <revision>\n")
    revision, end, after = rest.partition("    </revision>\n")
    time = "<timestamp>2024-01-01T00:00:00Z</timestamp>"
    copies = []
    for number, day in revisions:
        own_time = day
        if day:
            own_time = f"<timestamp>{day}</timestamp>"
        if day.isdecimal():
            own_time = time.replace("01-01", f"01-{day}")
        copy = revision.replace("1001", str(number)).replace(time, own_time).replace("Words.", f"Revision {number}.")
        copies.append(start + copy + end)
    return before + "".join(copies) + after


@pytest.mark.parametrize(
    ("revisions", "newest"),
    [
        ([(1, "01"), (2, "02")], 2),
        ([(3, "03"), (2, "02"), (1, "01")], 3),
        ([(1, "01"), (3, "03"), (2, "02")], 3),
        # A time in words counts as none.
        ([(1, "01"), (2, "02"), (3, "yesterday")], 2),
        ([(2, ""), (3, ""), (1, "")], 3),
        # An imported revision has a later number and an older time.
        ([(1, "09"), (5, "02")], 1),
    ],
)
def test_the_newest_revision_is_read(tmp_path: Path, revisions: list[tuple[int, str]], newest: int) -> None:
    ((page,), _) = read_export(tmp_path, make_export([with_revisions(*revisions)]))
    assert (page.revision_id, page.text) == (newest, f"Revision {newest}.")
