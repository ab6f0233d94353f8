"""The start encoder of a sweep's variants follows the configuration, also in a resumed sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import pandas as pd
from transformers import AutoConfig

from ease.pipelines.acquire.options import AcquireOptions
from ease.pipelines.recipe import EncoderDefaults
from ease.pipelines.setting import Setting
from ease.pipelines.sweep.trainings import Inputs, start_encoder
from ease.pipelines.training import TextOptions, TrainingData

ENCODER: dict[str, Any] = {"layers": 1, "hidden_size": 16, "intermediate_size": 32, "vocabulary_size": 300}


def sentences(count: int) -> ibis.Table:
    rows = [
        {"language": "en", "page_id": number, "sentence_index": 0, "text": f"The city {number} lies there."}
        for number in range(count)
    ]
    return ibis.memtable(pd.DataFrame(rows))


def start(folder: Path, rows: int = 40, seed: int = 1, pooling: str = "mean", **changes: Any) -> Path:
    """Return the start encoder of a variant for a sweep in a folder."""
    encoder = {"random": {**ENCODER, **changes}, "seed": seed, "pooling": pooling}
    setting = Setting(
        name="mine", languages="en", encoder=encoder, dev_tasks="stsb:dev", test_tasks="stsb:test"
    )
    table = sentences(rows)
    data = TrainingData(Path(), table, {}, {}, {}, setting)
    acquire = AcquireOptions.model_construct()
    return start_encoder(
        seed,
        setting,
        Inputs(table, data, acquire, TextOptions(), {}, EncoderDefaults.model_construct({}), folder),
    )


def layers(encoder: Path) -> int:
    return int(AutoConfig.from_pretrained(encoder).num_hidden_layers)


def test_a_resumed_sweep_with_another_encoder_builds_a_new_start(tmp_path: Path) -> None:
    before = start(tmp_path)
    made = (before / "model.safetensors").stat().st_mtime_ns
    assert layers(before) == 1
    assert layers(start(tmp_path, layers=3)) == 3
    others = [start(tmp_path, seed=2), start(tmp_path, pooling="cls"), start(tmp_path, rows=30)]
    assert len({before, *others}) == 4
    assert start(tmp_path) == before
    assert (before / "model.safetensors").stat().st_mtime_ns == made, "an equal one is made once"
