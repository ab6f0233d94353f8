"""The benchmark of exported forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.export_speed import main
from ease.encoders.encoder import build_encoder, save_encoder
from ease.encoders.exports import FORMS
from ease.encoders.options import EncoderOptions, RandomBertOptions


@pytest.mark.long
def test_all_forms_are_compared(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    sizes = {"layers": 1, "hidden_size": 16, "heads": 2, "intermediate_size": 32, "vocabulary_size": 300}
    tiny = EncoderOptions(name="random:", random=RandomBertOptions(**sizes))
    save_encoder(build_encoder(tiny, ["A sentence about nothing."] * 20), tmp_path / "encoder")
    main(["--encoder", str(tmp_path / "encoder"), "--sentences", "64", "--rounds", "1"])
    rows = [line.strip("| ").split(" | ") for line in capfd.readouterr().out.splitlines()[2:]]
    assert [row[0] for row in rows] == ["torch", *FORMS]
    assert float(rows[0][-1]) == 1
