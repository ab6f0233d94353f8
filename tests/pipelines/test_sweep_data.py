"""The training data of a sweep's variants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import pytest

from ease.pipelines.acquire.options import AcquireOptions
from ease.pipelines.recipe import EncoderDefaults
from ease.pipelines.setting import Setting
from ease.pipelines.sweep.trainings import Inputs, variant_data
from ease.pipelines.sweep.variants import Variant
from ease.pipelines.training import TextOptions, TrainingData

SETTING = Setting(
    name="mine", languages="en", encoder={"name": "any"}, dev_tasks="stsb:dev", test_tasks="stsb:test"
)
DEFAULTS = EncoderDefaults.model_validate({"random": {}, "pretrained": {}})
TRAINING = {"max_steps": 10, "batch_size": 4, "learning_rate": 0.001}
PAIRS = pd.DataFrame({"pair_id": range(60), "language": "en", "entity": 1, "sentence": "A city."})


def rows_of(variant: Variant, seed: int, recipe: dict[str, Any], folder: Path) -> pd.DataFrame:
    """Return the rows that a sweep trains a variant on from a seed."""
    recipes = {variant.method: recipe}
    pairs = ibis.memtable(PAIRS)
    data = TrainingData(Path(), pairs, {}, {}, {}, SETTING)
    acquire = AcquireOptions.model_construct()
    inputs = Inputs(None, data, acquire, TextOptions(), recipes, DEFAULTS, folder)
    given = variant_data(variant, variant.recipe(recipes, seed, "any", DEFAULTS), data, inputs)
    return given.rows.to_pandas()


def recipe(method: str, own_seed: int, **given: Any) -> dict[str, Any]:
    return {"method": method, "options": {}, "training": {**TRAINING, "seed": own_seed}, **given}


@pytest.mark.parametrize("method", ["simcse", "ease"])
def test_trainings_from_different_seeds_have_the_same_data(method: str, tmp_path: Path) -> None:
    strings = tmp_path / "words.txt"
    strings.write_text("".join(f"word {number}\n" for number in range(60)), encoding="utf-8")
    data = {"data": ({"kind": "lines", "path": str(strings)},)} if method == "simcse" else {}
    variant = Variant(method=method, seeds=(1, 2), rows=20)
    first = rows_of(variant, 1, recipe(method, 42, **data), tmp_path / "sweep")
    assert len(first) == 20
    assert rows_of(variant, 2, recipe(method, 42, **data), tmp_path / "sweep").equals(first)
    assert not rows_of(variant, 1, recipe(method, 43, **data), tmp_path / "sweep").equals(first), (
        "the recipe's own seed draws"
    )
