"""Variants of a sweep and their training data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import pytest

from ease.errors import EaseError
from ease.evaluation.sets import LocatedSet, check_scorable
from ease.pipelines.recipe import EncoderDefaults
from ease.pipelines.setting import Setting
from ease.pipelines.sweep.nodes import _subsets, trained_rows, training_times
from ease.pipelines.sweep.trainings import drawn_pairs
from ease.pipelines.sweep.variants import START, Sweep, Variant

LANGUAGES = ("en", "br", "kab")
SETTING: dict[str, Any] = {
    "name": "low_resource",
    "languages": LANGUAGES,
    "encoder": {"name": "any", "pooling": "mean", "seed": 7},
    "dev_tasks": ("sample_graded",),
    "test_tasks": ("sample_parallel",),
}
RECIPE: dict[str, Any] = {
    "method": "simcse",
    "options": {"self_temperature": 0.05},
    "data": ({"kind": "pairs"},),
    "training": {"max_steps": 10, "batch_size": 4, "learning_rate": 0.001},
}


def sweep(**given: Any) -> Sweep:
    return Sweep(name="mine", **given)


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ({}, "ease"),
        ({"name": "w/o hard negative", "rows": 5}, "w/o hard negative"),
        (
            {
                "options": {"weight": 0.1},
                "training": {"max_steps": 5},
                "setting": {"encoder": {"pooling": "cls"}},
                "rows": 100,
            },
            "ease weight=0.1 max_steps=5 pooling=cls rows=100",
        ),
        ({"permute_entities": True, "entity_table": "random"}, "ease permuted random table"),
        ({"setting": {"languages": "en br"}}, "ease en br"),
    ],
)
def test_a_variant_is_named_after_its_changes(given: dict[str, Any], label: str) -> None:
    assert Variant(method="ease", seeds=(1,), **given).label == label


def test_a_grid_is_every_combination() -> None:
    grid = {
        "method": "simcse",
        "seeds": (1, 2),
        "options": {"self_temperature": (0.05, 0.1)},
        "training": {"max_steps": (10, 20), "batch_size": (4,)},
    }
    variants = sweep(grids=[grid]).all_variants()
    assert [(variant.options, variant.training, variant.seeds) for variant in variants] == [
        ({"self_temperature": temperature}, {"max_steps": steps, "batch_size": 4}, (1, 2))
        for temperature in (0.05, 0.1)
        for steps in (10, 20)
    ]
    assert len({variant.label for variant in variants}) == 4


def test_each_language_has_its_own_model_and_the_start_is_scored_once() -> None:
    each = sweep(
        variants=[{"method": START, "seeds": [1]}, {"method": "ease", "seeds": [1]}], each_language=True
    )
    assert [
        (variant.label, variant.setting.get("languages")) for variant in each.all_variants(LANGUAGES)
    ] == [
        ("start", None),
        ("ease br", ("en", "br")),
        ("ease kab", ("en", "kab")),
    ]


TWO = [{"method": "ease", "seeds": [1, 2]}, {"method": "simcse", "seeds": [1]}]


def test_a_single_training_is_chosen_by_its_label_and_seed() -> None:
    everything = sweep(variants=TWO).chosen_trainings(LANGUAGES)
    assert list(everything) == ["ease seed=1", "ease seed=2", "simcse seed=1"]
    chosen = sweep(variants=TWO, only="ease seed=2").chosen_trainings(LANGUAGES)
    assert [(variant.method, seed) for variant, seed in chosen.values()] == [("ease", 2)]
    with pytest.raises(EaseError, match=r"`mine.only` 'ease seed=3': did you mean ease seed="):
        sweep(variants=TWO, only="ease seed=3").chosen_trainings(LANGUAGES)


def test_a_sweeps_table_has_the_newest_scores_of_its_trainings_in_order() -> None:
    rows = [
        {"model": name, "development": None, "deviation": None}
        for name in ("simcse seed=1", "dropped seed=1", "ease seed=2")
    ]
    table = trained_rows(rows, sweep(variants=TWO), Setting.model_validate(SETTING))
    assert table["model"].to_list() == ["ease seed=2", "simcse seed=1"]


def test_trainings_that_a_sweep_no_longer_has_are_refused() -> None:
    rows = [{"model": "dropped seed=1", "development": None}]
    with pytest.raises(EaseError, match="No saved training of mine .*run `kedro run --pipelines=mine`"):
        trained_rows(rows, sweep(variants=TWO), Setting.model_validate(SETTING))


def test_a_language_has_the_subset_of_its_variety() -> None:
    assert _subsets("br") == ("br-en", "bre-eng")
    assert _subsets("sw") == ("sw-en", "swa-eng", "swh-eng")


def test_the_time_of_each_training_is_plotted_once_and_starts_take_none() -> None:
    shared = {"variant": "ease", "method": "ease", "value": 50.0}
    rows = [
        {**shared, "model": "ease seed=1", "seed": 1, "seconds": 20.0, "task": task}
        for task in ("stsb", "sickr")
    ]
    rows += [{**shared, "model": "ease seed=2", "seed": 2, "seconds": 30.0}]
    rows += [
        {**shared, "model": "start seed=1", "variant": "start", "method": START, "seed": 1, "seconds": 0.0}
    ]
    figure = training_times(pd.DataFrame(rows), "mirror_words")
    assert [list(trace.y) for trace in figure.data if trace.mode == "markers"] == [[20.0, 30.0]]
    assert list(figure.layout.xaxis.ticktext) == ["ease"]
    assert figure.layout.yaxis.title.text == "training steps (seconds)"


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({}, "'mine' varies nothing"),
        (
            {"variants": [{"method": "ease", "seeds": [1]}, {"method": "ease", "seeds": [2]}]},
            "names ease twice: set `name`",
        ),
        ({"variants": [{"method": "ease"}]}, "'mine' has no seeds for ease: set `seeds`"),
        (
            {"variants": [{"method": "ease", "seeds": [1], "under": "BRET"}], "settings": {"BERT": {}}},
            "Unknown entry of `mine.settings` 'BRET': did you mean BERT",
        ),
    ],
)
def test_a_faulty_sweep_is_refused(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        sweep(**given)


def test_a_variant_changes_its_setting_and_recipe_and_no_other() -> None:
    setting = Setting.model_validate(SETTING)
    variant = Variant(
        method="simcse",
        seeds=(3,),
        options={"self_temperature": 0.1},
        training={"max_steps": 20},
        rows=50,
        setting={"encoder": {"pooling": "cls"}},
    )
    mine = sweep(variants=[variant], setting={"start": "mlm", "test_tasks": "sample_graded"})
    varied = mine.varied_setting(mine.own_setting(setting), variant, seed=3)
    assert (varied.encoder.pooling, varied.encoder.seed) == ("cls", 3)
    assert (varied.start, varied.test_tasks) == ("mlm", ("sample_graded",))
    assert varied.languages == LANGUAGES
    recipe = variant.recipe({"simcse": RECIPE}, 3, setting.encoder.name, DEFAULTS)
    assert recipe.options.model_dump()["self_temperature"] == 0.1
    assert (recipe.training.max_steps, recipe.training.batch_size, recipe.training.seed) == (20, 4, 3)
    assert recipe.rows == 50
    assert (setting.encoder.pooling, RECIPE["training"]["max_steps"]) == ("mean", 10)


def test_a_variant_is_trained_under_each_setting_or_the_one_that_it_names() -> None:
    mine = sweep(
        seeds="1 2",
        setting={"test_tasks": ["sts"]},
        settings={"BERT": {"encoder": "bert"}, "RoBERTa": {"encoder": {"name": "roberta", "pooling": "cls"}}},
        variants=[
            {"method": "simcse"},
            {
                "method": "simcse",
                "name": "mine",
                "under": "BERT",
                "setting": {"encoder": {"pooling": "cls_mlp"}},
            },
        ],
    )
    own = mine.own_setting(Setting.model_validate(SETTING))
    varied = {one.label: mine.varied_setting(own, one, seed=1) for one in mine.all_variants()}
    found = {label: (one.encoder.name, one.encoder.pooling) for label, one in varied.items()}
    assert found == {
        "simcse (BERT)": ("bert", "mean"),
        "mine (BERT)": ("bert", "cls_mlp"),
        "simcse (RoBERTa)": ("roberta", "cls"),
    }
    assert {one.test_tasks for one in varied.values()} == {("sts",)}
    assert list(mine.trainings(()))[:2] == ["simcse (BERT) seed=1", "simcse (BERT) seed=2"]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"encoder": {"poolng": "cls"}}, "sweep .mine.: `setting`: there is no field `encoder.poolng`"),
        ({"name": "other"}, "`setting.name` cannot be 'other'"),
    ],
)
def test_a_wrong_change_of_the_setting_is_refused(changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(EaseError, match=fault):
        sweep(variants=TWO, setting=changes).own_setting(Setting.model_validate(SETTING))


DEFAULTS = EncoderDefaults.model_validate({"random": {}, "pretrained": {}})
PAIRS = pd.DataFrame(
    {
        "pair_id": range(60),
        "language": ["en", "br", "kab"] * 20,
        "entity": [number % 7 for number in range(60)],
    }
)


def drawn(seed: int, pairs: pd.DataFrame = PAIRS, rows: int = 5) -> pd.DataFrame:
    return drawn_pairs(ibis.memtable(pairs), rows, seed).order_by("pair_id").to_pandas()


def test_pairs_are_drawn_evenly_and_depend_only_on_the_seed() -> None:
    first = drawn(seed=1)
    assert first["language"].value_counts().to_dict() == {"en": 5, "br": 5, "kab": 5}
    assert list(first.columns) == list(PAIRS.columns)
    assert first.merge(PAIRS).equals(first), "rows are whole"
    assert drawn(seed=1, pairs=PAIRS.sample(frac=1, random_state=0)).equals(first)
    assert not drawn(seed=2).equals(first)
    assert set(first["pair_id"]) < set(drawn(seed=1, rows=6)["pair_id"])
    assert len(drawn(seed=1, rows=100)) == len(PAIRS)


def test_a_sweep_without_data_to_score_on_does_not_start() -> None:
    there = LocatedSet(path=Path("a"), subsets={"test": ("a.csv",)}, sha256={"a.csv": "0"})
    missing = LocatedSet(path=Path("b"), subsets={}, sha256={}, missing={"deu-eng": ("b",)})
    check_scorable(["tatoeba", "stsb:test"], {"stsb": there, "tatoeba": missing})
    with pytest.raises(ValueError, match="There are no data of tatoeba, stsb:dev, which score the variants"):
        check_scorable(["tatoeba", "stsb:dev"], {"stsb": there, "tatoeba": missing})
