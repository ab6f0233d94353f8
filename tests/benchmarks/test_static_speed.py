"""The benchmark of static students."""

from __future__ import annotations

import pytest

from benchmarks.static_speed import main


@pytest.mark.long
def test_all_implementations_encode_and_are_compared(capfd: pytest.CaptureFixture[str]) -> None:
    main(["--sentences", "300", "--tokens", "600", "--dimension", "8", "--rounds", "1"])
    rows = [line.strip("| ").split(" | ") for line in capfd.readouterr().out.splitlines()[2:]]
    assert [row[0] for row in rows] == ["Model2Vec", "ease", "SentenceTransformer.encode"]
    assert float(rows[0][2]) == 1
