"""The benchmark of nearest-neighbour search."""

from __future__ import annotations

import pytest

from benchmarks.search_memory import main


@pytest.mark.long
def test_both_searches_agree_and_their_cost_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    main(["--sizes", "300x500", "--dimension", "16"])
    ours, peer = (line.strip("| ").split(" | ") for line in capfd.readouterr().out.splitlines()[2:])
    assert ours[:3] == ["ease", "300", "500"]
    assert peer[:3] == ["semantic_search", "300", "500"]
    assert float(ours[4]) == 1
    assert 100 < float(ours[5].replace(",", "")) < 2000
