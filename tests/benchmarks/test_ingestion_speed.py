"""The ingestion benchmark."""

from __future__ import annotations

import bz2
import gzip
import re
from pathlib import Path

import pytest

from benchmarks.ingestion_speed import (
    PACKINGS,
    compare_readers,
    measure_memory,
    measure_other_namespaces,
    measure_scaling,
)
from benchmarks.repeated_dumps import repeat_dump
from tests.wikimedia.made_dumps import article, as_dump, make_export


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A slice of 40 articles with its language on the first line, where wikipedia2vec looks for it."""
    export = make_export([article(number) for number in range(1, 41)]).replace("\n    version", " version")
    return as_dump(tmp_path / "slice/enwiki-slice-pages-articles.xml", export.encode()).path


@pytest.mark.parametrize("packing", PACKINGS)
def test_repeated_pages_have_distinct_titles(source: Path, tmp_path: Path, packing: str) -> None:
    ending, streams = PACKINGS[packing]
    target = tmp_path / f"enwiki-pages-articles.xml{ending}"
    size = repeat_dump(source, target, 0.2, streams)
    packed = target.read_bytes()
    content = gzip.decompress(packed) if ending == ".gz" else bz2.decompress(packed)
    assert len(content) == size >= 200_000
    titles = [line for line in content.splitlines() if b"<title>" in line]
    assert len(titles) == len(set(titles)) > 200
    assert packed.count(b"BZh91AY&SY") == (ending == ".bz2" and (len(titles) // 100 + 1 if streams else 1))


@pytest.mark.slow
def test_comparison_reports_the_rate_of_every_reader(source: Path, tmp_path: Path) -> None:
    cells = compare_readers(source, 0.2, 1, tmp_path).strip("| ").split(" | ")
    assert cells[0] == "enwiki-slice"
    ours, beside_wikipedia2vec = float(cells[2]), re.fullmatch(r"(\S+) \((\S+)\)", cells[3])
    assert beside_wikipedia2vec
    theirs, ratio = map(float, beside_wikipedia2vec.groups())
    # Rates are small here and rounded to one decimal.
    assert (ours - 0.05) / (theirs + 0.05) - 0.01 <= ratio <= (ours + 0.05) / max(theirs - 0.05, 1e-9) + 0.01
    assert all(float(cell.split()[0]) > 0 for cell in cells[4:])


@pytest.mark.slow
def test_scaling_and_memory_are_reported(source: Path, tmp_path: Path) -> None:
    rows = measure_scaling(source, 0.1, 1, tmp_path)
    assert [row.strip("| ").split(" | ")[0] for row in rows] == list(PACKINGS)
    row = measure_other_namespaces(source, 0.1, 1, tmp_path)
    assert all(float(cell) > 0 for cell in row.strip("| ").split(" | ")[1:])
    (row,) = measure_memory(source, [0.1], tmp_path)
    assert 50 < float(row.strip("| ").split(" | ")[1]) < 500
