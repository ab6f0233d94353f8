"""The benchmark of pairs and hard negatives on a few links."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.project import ROOT


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.spark
def test_spark_mines_the_rows_of_duckdb() -> None:
    small = "--links 3000 --per-language 1000 --memory-limit 1GB --engines duckdb spark"
    command = [sys.executable, "-m", "benchmarks.mining_speed", *small.split()]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    rows = [line.strip("| ").split(" | ") for line in output.splitlines() if line.startswith("|")][2:]
    assert [row[:2] for row in rows] == [["duckdb", "3,000"], ["spark", "3,000"]]
    assert 500 < int(rows[0][2].replace(",", "")) == int(rows[1][2].replace(",", "")) <= 3000
    assert all(float(cell) >= 0 for row in rows for cell in row[3:])
    assert "\nHard negatives that only one engine has: 0\n" in output
