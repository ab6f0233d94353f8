"""The benchmark of training speed measures both loops on the same sentences."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.training_speed import measure
from ease.encoder import EncoderOptions, RandomBertOptions, build_encoder, save_encoder


def test_every_way_to_train_gets_a_rate(tmp_path: Path) -> None:
    sentences = [f"sentence number {number} of a river" for number in range(32)]
    pq.write_table(pa.table({"sentence": sentences}), tmp_path / "pairs.parquet")
    small = RandomBertOptions(hidden_size=16, intermediate_size=32, vocabulary_size=300)
    save_encoder(build_encoder(EncoderOptions(random=small), sentences), tmp_path / "encoder")
    rates = measure(tmp_path / "pairs.parquet", str(tmp_path / "encoder"), batch_size=8, steps=2, rounds=1)
    assert len(rates) == 3
    assert all(rate > 0 for rate in rates.values())
