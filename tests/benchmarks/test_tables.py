"""Benchmarks of search, batches, mining, evaluation and ingestion on small inputs: what is compared agrees."""

from __future__ import annotations

import bz2
import gzip
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import evaluation_speed, ingestion_speed, large_batches, search_memory, wikidata_ingestion
from benchmarks.ingestion_speed import PACKINGS, repeat_dump
from ease.encoders.encoder import build_encoder, save_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions
from tests.project import ROOT
from tests.wikimedia.made_dumps import article, as_dump, make_export

pytestmark = pytest.mark.long


def rows_of(printed: str) -> list[list[str]]:
    """Return the cells of a printed table's rows, without its head."""
    rows = [line.strip("| ").split("|") for line in printed.splitlines() if line.startswith("|")]
    return [[re.sub(r"(?<=\d),(?=\d)", "", cell.strip()) for cell in row] for row in rows[2:]]


def test_both_searches_agree_and_their_cost_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    search_memory.main(["--sizes", "300x500", "--dimension", "16"])
    ours, peer = rows_of(capfd.readouterr().out)
    assert ours[:3] == ["ease", "300", "500"]
    assert peer[:3] == ["semantic_search", "300", "500"]
    assert float(ours[4]) == 1
    assert 100 < float(ours[5]) < 2000


@pytest.mark.slow
def test_gradient_caching_uses_less_memory(capfd: pytest.CaptureFixture[str]) -> None:
    large_batches.main(["--batch-sizes", "384", "--mini-batch-size", "16", "--steps", "1"])
    (row,) = rows_of(capfd.readouterr().out)
    batch, direct, blocks, ratio, *rates = map(float, row)
    assert batch == 384
    assert ratio == pytest.approx(blocks / direct, abs=0.02)
    assert ratio < 0.7
    assert rates[2] == pytest.approx(rates[1] / rates[0], abs=0.02)


@pytest.mark.slow
@pytest.mark.spark
def test_spark_mines_the_rows_of_duckdb() -> None:
    small = "--links 3000 --per-language 1000 --memory-limit 1GB --engines duckdb spark"
    command = [sys.executable, "-m", "benchmarks.mining_speed", *small.split()]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    rows = rows_of(output)
    assert [row[:2] for row in rows] == [["duckdb", "3000"], ["spark", "3000"]]
    assert 500 < int(rows[0][2]) == int(rows[1][2]) <= 3000
    assert all(float(cell.split()[0]) >= 0 for row in rows for cell in row[3:])
    assert all(0.05 < float(cell[cell.index("(") + 1 : -1]) < 4 for row in rows for cell in row[3:6])
    assert "\nHard negatives that only one engine has: 0\n" in output


@pytest.mark.slow
def test_the_evaluation_scores_the_same_pairs_as_mteb(
    test_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EASE_TEST_DATA", str(test_data))
    small = RandomBertOptions(hidden_size=16, intermediate_size=32, vocabulary_size=600, max_positions=64)
    save_encoder(build_encoder(EncoderOptions(random=small), ["A man plays a guitar."] * 5), tmp_path)
    tasks = ["sts17:en-en", "tatoeba:deu-eng"]
    evaluation_speed.main(["--encoder", str(tmp_path), "--tasks", *tasks, "--threads", "1"])
    printed = capsys.readouterr().out
    assert printed.startswith("2 subsets")
    assert re.search(r"\| ease \| [\d.]+ \| [\d.]+ \|", printed)
    (difference,) = re.findall(r"correlations: ([\d.]+) points", printed)
    assert float(difference) < 0.1


def test_each_reader_of_wikidata_returns_the_rows_of_the_plain_loop(capsys: pytest.CaptureFixture[str]) -> None:
    wikidata_ingestion.main(["--items", "30", "60", "--repeats", "1"])
    rows = rows_of(capsys.readouterr().out)
    readers = [[way, packing] for packing in ("bz2", "gz") for way in wikidata_ingestion.READERS]
    assert [row[:2] for row in rows] == readers
    rates = [float(row[2]) for row in rows]
    for start in (0, 3):
        ratios = [float(row[3]) for row in rows[start : start + 3]]
        assert ratios == pytest.approx([rate / rates[start] for rate in rates[start : start + 3]], abs=0.06)
    assert [float(row[4]) for row in rows] == pytest.approx([rate / rates[0] for rate in rates], abs=0.06)
    assert all(len(row) == 7 and float(cell) > 50 for row in rows for cell in row[5:])


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


@pytest.mark.slow
def test_every_table_of_the_ingestion_has_its_figures(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ingestion_speed.main([str(source), "--megabytes", "0.2", "--rounds", "1", "--sizes", "0.1"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    readers, *scaling, memory = (
        line.strip("| ").split(" | ") for place, line in enumerate(lines) if place not in (0, 1, 3, 4, 8, 9)
    )
    assert (readers[0], [row[0] for row in scaling]) == ("enwiki-slice", [*PACKINGS])
    assert all(float(cell.split()[0]) > 0 for cell in readers[2:] if cell != "–")
    assert 50 < float(memory[1]) < 500
