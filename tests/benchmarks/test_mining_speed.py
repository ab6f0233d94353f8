"""The benchmark of pairs and hard negatives on a few links."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.project import ROOT

SMALL = "--links 3000 --loop-links 3000 --per-language 1000 --loop-pairs 500 --memory-limit 1GB"


def printed(*engines: str) -> tuple[list[list[str]], str]:
    """Return the cells of the table's rows below its head, and all output."""
    command = [sys.executable, "-m", "benchmarks.mining_speed", *SMALL.split(), "--engines", *engines]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    rows = [line for line in output.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows[2:]], output


@pytest.mark.slow
def test_duckdb_is_measured_beside_dictionaries() -> None:
    rows, output = printed("duckdb")
    assert [row[:2] for row in rows] == [["duckdb", "3,000"]]
    assert 500 < int(rows[0][2].replace(",", "")) <= 3000
    assert all(float(cell) >= 0 for cell in rows[0][3:])
    assert "Pairs mined per second on 3,000 links: ease " in output
    assert "only one engine" not in output


@pytest.mark.slow
@pytest.mark.spark
def test_spark_mines_the_rows_of_duckdb() -> None:
    rows, output = printed("duckdb", "spark")
    assert [row[:2] for row in rows] == [["duckdb", "3,000"], ["spark", "3,000"]]
    assert rows[0][2] == rows[1][2]
    assert "\nHard negatives that only one engine has: 0\n" in output
