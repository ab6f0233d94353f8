"""The ingestion benchmark on 40 articles."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pytest

from benchmarks.ingestion_speed import PACKINGS, main, repeat_dump
from tests.wikimedia.made_dumps import article, as_dump, make_export


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A slice of 40 articles with its language on the first line, where wikipedia2vec looks for it."""
    export = make_export([article(number) for number in range(1, 41)]).replace("\n    version", " version")
    return as_dump(tmp_path / "slice/enwiki-slice-pages-articles.xml", export.encode()).path


@pytest.mark.parametrize("packing", PACKINGS)
def test_repeated_pages_have_distinct_titles(source: Path, tmp_path: Path, packing: str) -> None:
    dump = repeat_dump(source, tmp_path, 0.2, packing)
    packed = dump.path.read_bytes()
    content = gzip.decompress(packed) if packing == "gz" else bz2.decompress(packed)
    assert len(content) == 1e6 * dump.megabytes >= 200_000
    titles = [line for line in content.splitlines() if b"<title>" in line]
    assert len(titles) == len(set(titles)) > 200
    streams = {"gz": 0, "bz2, one stream": 1}.get(packing, len(titles) // 100 + 1)
    assert packed.count(b"BZh91AY&SY") == streams


@pytest.mark.long
@pytest.mark.slow
def test_every_table_has_its_figures(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(source), "--megabytes", "0.2", "--rounds", "1", "--sizes", "0.1"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    readers, *scaling, memory = (
        line.strip("| ").split(" | ") for place, line in enumerate(lines) if place not in (0, 1, 3, 4, 8, 9)
    )
    assert (readers[0], [row[0] for row in scaling]) == ("enwiki-slice", [*PACKINGS])
    assert all(float(cell.split()[0]) > 0 for cell in readers[2:] if cell != "–")
    assert 50 < float(memory[1]) < 500
