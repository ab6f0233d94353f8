"""Types of items from Wikidata's truthy statements."""

from __future__ import annotations

import random
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


def random_lines(seed: int, items: int) -> tuple[list[str], list[tuple[int, int]]]:
    """Return statements of items, with labels, articles and other properties among them, and the items' types."""
    rng = random.Random(seed)
    lines, types = [], []
    for qid in rng.sample(range(1, 10**8), items):
        subject, item_types = f"<{WD}Q{qid}>", [(qid, rng.randrange(1, 10**6)) for _ in range(rng.randrange(3))]
        some = [
            f'{subject} <http://schema.org/name> "A \\"name\\" {P31} <{WD}Q7> ."@en .',
            f"<https://en.wikipedia.org/wiki/Page_{qid}> <http://schema.org/about> {subject} .",
            f"{subject} <http://www.wikidata.org/prop/direct/P31000> <{WD}Q8> .",
            f"{subject} <http://www.wikidata.org/prop/direct/P361> <{WD}Q9> .",
            f'{subject} <http://www.wikidata.org/prop/direct/P1476> "\\u6771"@ja .',
        ]
        place = rng.randrange(len(some))
        lines += [*some[:place], *(is_a(*pair) for pair in item_types), *some[place:]]
        types += item_types
    return lines, types


@pytest.mark.parametrize(("ending", "chunk_bytes"), [("", 1000), (".gz", 1000), (".bz2", 1 << 20), (".zst", 1 << 20)])
def test_types_among_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, chunk_bytes: int) -> None:
    monkeypatch.setattr(wikidata, "_TRUTHY_CHUNK_BYTES", chunk_bytes)
    monkeypatch.setattr("ease.wikimedia.dumps.streams.BLOCK_BYTES", chunk_bytes // 3)
    lines, expected = random_lines(1, 400)
    parts = ingest(tmp_path, *lines, name=f"wikidata-20240105-truthy-BETA.nt{ending}")
    assert pairs(parts) == expected
    assert len(expected) > 250
    counts = {"lines": len(lines), "statements": len(expected), "other_statements": 0, "broken_lines": 0}
    source = {"truncated": False, "file": f"wikidata-20240105-truthy-BETA.nt{ending}", "date": "20240105"}
    assert parts.counts == {**counts, **source}


def test_other_statements_and_broken_lines_are_counted(tmp_path: Path) -> None:
    other_lines = [f"<{WD}P31> {P31} <{WD}Q5> .", f"<{WD}Q1> {P31} <{WD}P31> ."]
    other_lines.append(f"<{WD}Q1> {P31} <http://www.wikidata.org/.well-known/genid/3af1> .")
    broken = [f"<{WD}Q1> {P31} <{WD}Q5>", f"<{WD}Q1 {P31} <{WD}Q5> .", f"<{WD}Q1> {P31} Q5 ."]
    broken.append(f"{is_a(1, 5)} {is_a(2, 5)}")
    parts = ingest(tmp_path, "# a comment", is_a(1, 2), *broken, *other_lines, is_a(1, 2), *broken, is_a(3, 4))
    assert pairs(parts) == [(1, 2), (1, 2), (3, 4)]
    assert (parts.counts["other_statements"], parts.counts["broken_lines"]) == (3, 8)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[\n{"id":"Q1"}\n]\n', r"is not an N-Triples dump: it begins with b'\[\\n"),
        (f'<{WD}Q1> <http://schema.org/name> "x"@en .\n', r"no P31 statement about an item \(1 lines"),
    ],
)
def test_files_that_are_not_truthy_dumps_are_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "truthy.nt"
    path.write_text(content)
    with pytest.raises(EaseError, match=message):
        ingest_truthy(path, ONE, tmp_path / "parts")
    assert not list(tmp_path.rglob("*.parquet"))
