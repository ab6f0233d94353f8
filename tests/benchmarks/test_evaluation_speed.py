"""The evaluation benchmark scores the same pairs as MTEB, with the same result."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.evaluation_speed import main
from ease.encoders.encoder import build_encoder, save_encoder
from ease.encoders.options import EncoderOptions, RandomBertOptions


@pytest.mark.long
@pytest.mark.slow
def test_both_score_the_same_subsets(
    test_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EASE_TEST_DATA", str(test_data))
    small = RandomBertOptions(hidden_size=16, intermediate_size=32, vocabulary_size=600, max_positions=64)
    save_encoder(build_encoder(EncoderOptions(random=small), ["A man plays a guitar."] * 5), tmp_path)
    main(["--encoder", str(tmp_path), "--tasks", "sts17:en-en", "tatoeba:deu-eng", "--threads", "1"])
    printed = capsys.readouterr().out
    assert printed.startswith("2 subsets")
    assert re.search(r"\| ease \| [\d.]+ \| [\d.]+ \|", printed)
    (difference,) = re.findall(r"correlations: ([\d.]+) points", printed)
    assert float(difference) < 0.1
