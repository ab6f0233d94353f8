"""Types of items from Wikidata's truthy statements."""

from __future__ import annotations

import gzip
import random
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from ease.errors import EaseError
from ease.wikimedia import wikidata
from ease.wikimedia.dumps.parts import IngestOptions
from ease.wikimedia.wikidata import WikidataParts, ingest_truthy
from tests.wikimedia.made_dumps import ONE, PACK, rows

WD, P31 = "http://www.wikidata.org/entity/", "<http://www.wikidata.org/prop/direct/P31>"


def is_a(qid: int | str, type_qid: int | str) -> str:
    return f"<{WD}Q{qid}> {P31} <{WD}Q{type_qid}> ."


def ingest(folder: Path, *lines: str, name: str = "latest-truthy.nt", **options: Any) -> WikidataParts:
    path = folder / name
    content = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(PACK.get(path.suffix, bytes)(content))
    return ingest_truthy(path, IngestOptions(workers=1, **options), folder / "parts")


def pairs(parts: WikidataParts) -> list[tuple[int, int]]:
    return [(row["qid"], row["type_qid"]) for row in rows(parts.entity_types)]


def random_lines(seed: int, items: int) -> list[str]:
    """Return statements of items, with labels, articles and other properties among them."""
    rng = random.Random(seed)
    lines = []
    for qid in rng.sample(range(1, 10**8), items):
        subject = f"<{WD}Q{qid}>"
        some = [
            f'{subject} <http://schema.org/name> "A \\"name\\" {P31} <{WD}Q7> ."@en .',
            f"<https://en.wikipedia.org/wiki/Page_{qid}> <http://schema.org/about> {subject} .",
            *(is_a(qid, rng.randrange(1, 10**6)) for _ in range(rng.randrange(3))),
            f"{subject} <http://www.wikidata.org/prop/direct/P31000> <{WD}Q8> .",
            f"{subject} <http://www.wikidata.org/prop/direct/P361> <{WD}Q9> .",
            f'{subject} <http://www.wikidata.org/prop/direct/P1476> "\\u6771"@ja .',
        ]
        lines += rng.sample(some, len(some))
    return lines


def one_by_one(lines: list[str]) -> list[tuple[int, int]]:
    """Return the types by splitting every line into its terms."""
    found = []
    for line in lines:
        subject, predicate, value = line.removesuffix(" .").split(" ", 2)
        ids = re.fullmatch(rf"<{WD}Q(\d+)>", subject), re.fullmatch(rf"<{WD}Q(\d+)>", value)
        if predicate == P31 and ids[0] and ids[1]:
            found.append((int(ids[0][1]), int(ids[1][1])))
    return found


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("chunk_bytes", [1000, 1 << 20])
def test_types_are_those_found_line_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, chunk_bytes: int
) -> None:
    monkeypatch.setattr(wikidata, "_TRUTHY_CHUNK_BYTES", chunk_bytes)
    monkeypatch.setattr("ease.wikimedia.dumps.streams.BLOCK_BYTES", chunk_bytes // 3)
    lines = random_lines(1, 800)
    parts = ingest(tmp_path, *lines, name=f"wikidata-20240105-truthy-BETA.nt{ending}")
    expected = one_by_one(lines)
    assert pairs(parts) == expected
    assert len(expected) > 500
    counts = {"lines": len(lines), "statements": len(expected), "other_statements": 0, "broken_lines": 0}
    source = {"truncated": False, "file": f"wikidata-20240105-truthy-BETA.nt{ending}", "date": "20240105"}
    assert parts.counts == {**counts, **source}


def test_statements_that_are_not_types_of_items_are_skipped(tmp_path: Path) -> None:
    others = [
        f"<{WD}P31> {P31} <{WD}Q5> .",
        f"<{WD}L7> {P31} <{WD}Q5> .",
        f"<{WD}Q1> {P31} <{WD}P31> .",
        f"<{WD}Q1> {P31} <http://www.wikidata.org/.well-known/genid/3af1> .",
        f"<{WD}Q1> {P31} _:3af1 .",
    ]
    parts = ingest(tmp_path, *others, is_a(1, 5), is_a(1, 5), is_a(2, 6))
    assert pairs(parts) == [(1, 5), (1, 5), (2, 6)]
    assert (parts.counts["other_statements"], parts.counts["broken_lines"]) == (5, 0)


def test_broken_lines_are_counted_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    broken = [
        f"<{WD}Q1> {P31} <{WD}Q5>",
        f"<{WD}Q1> {P31} <{WD}Q5 .",
        f"<{WD}Q1 {P31} <{WD}Q5> .",
        f"<{WD}Q1> {P31} Q5 .",
        f"<{WD}Q1> {P31} <{WD}Q5> . {is_a(2, 5)}",
    ]
    parts = ingest(tmp_path, "# a comment", is_a(1, 2), *broken, *broken, is_a(3, 4))
    assert pairs(parts) == [(1, 2), (3, 4)]
    assert parts.counts["broken_lines"] == 10
    assert caplog.text.count("is skipped") == 5
    assert "latest-truthy.nt, line 3 is skipped: it is not a statement" in caplog.text


FORMS = {
    "tabs": is_a(1, 5).replace(" ", "\t"),
    "windows": is_a(1, 5) + "\r",
    "no space before the dot": is_a(1, 5).replace(" .", "."),
}


@pytest.mark.slow
@pytest.mark.parametrize("ending", PACK)
def test_a_truncated_file_is_kept_or_dropped(
    tmp_path: Path, ending: str, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [is_a(qid, qid * 7919 % 10_007 + 1) for qid in range(1, 30_000)]
    name = f"latest-truthy.nt{ending}"
    ingest(tmp_path, *lines, name=name)
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 3 // 4])
    parts = ingest_truthy(path, ONE, tmp_path / "parts")
    found = pairs(parts)
    assert found == one_by_one(lines)[: len(found)]
    assert 10_000 < len(found) < 29_999
    assert (parts.counts["truncated"], parts.counts["broken_lines"]) == (True, 0)
    assert f"{path} is truncated" in caplog.text
    with pytest.raises(EaseError, match="is truncated: download it again, or set `truncated`"):
        ingest_truthy(path, IngestOptions(workers=1, truncated="drop"), tmp_path / "parts")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[\n{"id":"Q1"}\n]\n', r"is not an N-Triples dump: it begins with b'\[\\n"),
        ("", r"is empty \(0 bytes\)"),
        (
            f'<{WD}Q1> <http://schema.org/name> "x"@en .\n',
            r"has no P31 statement about an item \(1 lines",
        ),
    ],
)
def test_files_that_are_not_truthy_dumps_are_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "truthy.nt"
    path.write_text(content)
    with pytest.raises(EaseError, match=message):
        ingest_truthy(path, ONE, tmp_path / "parts")
    assert not list(tmp_path.rglob("*.parquet"))


def test_an_unchanged_dump_is_read_once(tmp_path: Path) -> None:
    first = ingest(tmp_path, is_a(1, 2))
    written = first.entity_types[0].stat().st_mtime_ns
    again = ingest(tmp_path, is_a(1, 2), name="truthy-copy.nt")
    assert again.entity_types == first.entity_types
    assert again.entity_types[0].stat().st_mtime_ns == written
    assert ingest(tmp_path, is_a(1, 3)).entity_types != first.entity_types


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    lines = random_lines(2, 8000)

    def peak(times: int) -> int:
        path = tmp_path / f"{times}-truthy.nt.gz"
        path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), 1) * times)
        tracemalloc.start()
        ingest_truthy(path, ONE, tmp_path / "parts")
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return held

    peak(1)  # imports
    assert peak(16) < 1.2 * peak(4)
