"""The benchmark of clustering."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.clustering_speed import made_embeddings, main


@pytest.mark.long
def test_all_ways_are_reported_with_their_ratio(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    embeddings, labels = made_embeddings(300, 4, 16)
    np.savez(tmp_path / "made.npz", embeddings=embeddings, labels=labels)
    main(["--embeddings", str(tmp_path / "made.npz")])
    ours, exact, coarse = (line.strip("| ").split(" | ") for line in capfd.readouterr().out.splitlines()[2:])
    assert ours[:4] == ["made", "300", "4", "ease"]
    assert float(ours[5]) == 1
    assert (exact[3], exact[6]) == ("scikit-learn", ours[6])
    assert coarse[3] == "mteb"
