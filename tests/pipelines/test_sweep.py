"""Sweeps: their variants, starts, training data and scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import mlflow
import pandas as pd
import pytest
import yaml
from mlflow.tracking import MlflowClient
from transformers import AutoConfig

from ease.encoders.defaults import EncoderDefaults
from ease.encoders.encoder import save_encoder
from ease.encoders.encoding import encode_with
from ease.errors import EaseError
from ease.evaluation.sets import locate_sets
from ease.evaluation.tasks import build_tasks
from ease.names import safe_name
from ease.pipelines.options import AcquireOptions, TextOptions
from ease.pipelines.setting import Setting
from ease.pipelines.sweep.nodes import (
    SweepInputs,
    _subsets,
    draw_pairs_per_language,
    joined_rows,
    start_encoder,
    variant_data,
)
from ease.pipelines.sweep.variants import START, Sweep, SweepChoice, SweepRun, Sweeps, Variant, name_sweep, open_sweep
from ease.pipelines.tracked_training import TrainingData
from ease.similarity.encode import EncodeByLanguage
from tests.encoders.tiny import SIZES, tiny_encoder
from tests.evaluation.made_tasks import task_parameters
from tests.evaluation.tasks.test_bli import write
from tests.project import Project

LANGUAGES = ("en", "br", "kab")
SETTING: dict[str, Any] = {
    "name": "low_resource",
    "languages": LANGUAGES,
    "encoder": {"name": "any", "pooling": "mean", "seed": 7},
    "dev_tasks": ("sample_graded",),
    "test_tasks": ("sample_parallel",),
}
TRAINING: dict[str, Any] = {"max_steps": 10, "batch_size": 4, "learning_rate": 0.001}
RECIPE: dict[str, Any] = {
    "method": "simcse",
    "options": {"self_temperature": 0.05},
    "data": ({"kind": "pairs"},),
    "training": TRAINING,
}
DEFAULTS = EncoderDefaults.model_validate({"random": {}, "pretrained": {}})
VARIANTS = [{"method": "mirror_bert", "name": f"words {code}", "seeds": [1, 2]} for code in ("en", "de")]
ENCODERS = {"en": "words en", "de": "words de"}


def sweep(**given: Any) -> Sweep:
    return Sweep(name="mine", **given)


def setting(**given: Any) -> Setting:
    return Setting.model_validate({**SETTING, **given})


def opened(own: Sweep, only: tuple[str, ...] = ()) -> SweepRun:
    choice = SweepChoice(name=own.name, only=only)
    return open_sweep(choice, Sweeps({own.name: own}), {"multilingual": {"setting": SETTING, "simcse": RECIPE}})


def test_a_grid_is_every_combination() -> None:
    training = {"max_steps": (10, 20), "batch_size": (4,)}
    grid = {"method": "simcse", "options": {"self_temperature": (0.05, 0.1)}, "training": training}
    variants = sweep(grids=[{**grid, "seeds": (1, 2)}]).all_variants()
    found = [(one.options["self_temperature"], one.training["max_steps"]) for one in variants]
    assert found == [(0.05, 10), (0.05, 20), (0.1, 10), (0.1, 20)]
    assert {(one.training["batch_size"], one.seeds) for one in variants} == {(4, (1, 2))}
    assert len({one.label for one in variants}) == 4


def test_each_language_has_its_own_model_and_the_start_is_scored_once() -> None:
    variants = [{"method": START, "seeds": [1]}, {"method": "ease", "seeds": [1]}]
    found = sweep(variants=variants, each_language=True).all_variants(LANGUAGES)
    assert [(variant.label, variant.setting.get("languages")) for variant in found] == [
        ("start", None),
        ("ease br", ("en", "br")),
        ("ease kab", ("en", "kab")),
    ]
    assert _subsets("br") == ("br-en", "bre-eng")
    assert _subsets("sw") == ("sw-en", "swa-eng", "swh-eng")


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({}, "'mine' varies nothing"),
        (
            {"variants": [{"method": "ease", "seeds": [1]}, {"method": "ease", "seeds": [2]}]},
            "names ease twice: set `name`",
        ),
        (
            {"variants": [{"method": "ease", "seeds": [1], "under": "BRET"}], "settings": {"BERT": {}}},
            "Unknown entry of `mine.settings` 'BRET': did you mean BERT",
        ),
        (
            {"variants": VARIANTS, "joined": {"words": {"encoders": {**ENCODERS, "de": "word de"}}}},
            "'word de': did you mean words de",
        ),
    ],
)
def test_a_faulty_sweep_is_refused(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        sweep(**given)


def test_a_variant_changes_its_setting_and_recipe_and_no_other() -> None:
    changes = {"options": {"self_temperature": 0.1}, "training": {"max_steps": 20}, "rows": 50}
    variant = Variant(method="simcse", seeds=(3,), setting={"encoder": {"pooling": "cls"}}, **changes)
    mine = sweep(variants=[variant], setting={"start": "mlm", "test_tasks": "sample_graded"})
    varied = mine.varied_setting(opened(mine).setting, variant, seed=3)
    assert (varied.encoder.pooling, varied.encoder.seed) == ("cls", 3)
    assert (varied.start, varied.test_tasks) == ("mlm", ("sample_graded",))
    assert varied.languages == LANGUAGES
    recipe = variant.vary({"simcse": RECIPE}, 3).complete("any", DEFAULTS)
    assert recipe.options.model_dump()["self_temperature"] == 0.1
    assert (recipe.training.max_steps, recipe.training.batch_size, recipe.training.seed) == (20, 4, 3)
    assert recipe.rows == 50


def test_a_variant_is_trained_under_each_setting_or_the_one_that_it_names() -> None:
    pooled = {"setting": {"encoder": {"pooling": "cls_mlp"}}}
    own = {"method": "simcse", "name": "mine", "under": "BERT", **pooled}
    mine = sweep(
        seeds="1 2",
        setting={"test_tasks": ["sts"]},
        settings={"BERT": {"encoder": "bert"}, "RoBERTa": {"encoder": {"name": "roberta", "pooling": "cls"}}},
        variants=[{"method": "simcse"}, own],
    )
    changed = opened(mine).setting
    varied = {one.label: mine.varied_setting(changed, one, seed=1) for one in mine.all_variants()}
    found = {label: (one.encoder.name, one.encoder.pooling) for label, one in varied.items()}
    assert found == {
        "simcse (BERT)": ("bert", "mean"),
        "mine (BERT)": ("bert", "cls_mlp"),
        "simcse (RoBERTa)": ("roberta", "cls"),
    }
    assert {one.test_tasks for one in varied.values()} == {("sts",)}
    assert list(mine.training_runs(()))[:2] == ["simcse (BERT) seed=1", "simcse (BERT) seed=2"]


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        ((), ["start seed=7", "ease seed=1", "ease seed=2", "w/o hard negative, any seed=1"]),
        (("ease",), ["ease seed=1", "ease seed=2"]),
        (("ease seed=2", "start"), ["start seed=7", "ease seed=2"]),
        ("w/o hard negative, any", ["w/o hard negative, any seed=1"]),
    ],
)
def test_a_part_of_a_sweep_is_chosen_by_labels_or_training_runs(only: Any, expected: list[str]) -> None:
    variants = [
        {"method": START, "seeds": [7]},
        {"method": "ease", "seeds": [1, 2]},
        {"method": "ease", "name": "w/o hard negative, any", "seeds": [1]},
    ]
    choice = SweepChoice.model_validate({"name": "mine", "only": only})
    assert list(opened(sweep(variants=variants), choice.only).training_runs) == expected


def test_a_sweep_is_chosen_by_its_name() -> None:
    assert SweepChoice.model_validate("mine") == SweepChoice(name="mine")
    variants = {"variants": [{"method": START, "seeds": [1]}]}
    parameters = {"sweeps": {"mine": variants, "other": {"setting": {"name": "low_resource"}, **variants}}}
    assert name_sweep({"sweep": "mine", **parameters}) == {"name": "mine", "setting": "multilingual"}
    assert name_sweep({"sweep": {"name": "other"}, **parameters}) == {"name": "other", "setting": "low_resource"}
    sweeps = Sweeps.model_validate(parameters["sweeps"])
    assert sweeps.choose(SweepChoice(name="other")).name == "other"
    for choose in (
        lambda: name_sweep({"sweep": "mien", **parameters}),
        lambda: sweeps.choose(SweepChoice(name="mien")),
    ):
        with pytest.raises(EaseError, match="Unknown sweep 'mien': did you mean mine"):
            choose()
    with pytest.raises(EaseError, match=r"Unknown variant of 'mine' in `sweep.only` 'eaze'"):
        opened(sweep(**variants), ("eaze",)).training_runs  # noqa: B018


PAIRS = pd.DataFrame({"pair_id": range(60), "language": [*LANGUAGES] * 20, "entity": 3, "sentence": "A city."})


def drawn(seed: int, pairs: pd.DataFrame = PAIRS, rows: int = 5) -> pd.DataFrame:
    return draw_pairs_per_language(ibis.memtable(pairs), rows, seed).order_by("pair_id").to_pandas()


def test_pairs_are_drawn_evenly_and_depend_only_on_the_seed() -> None:
    first = drawn(seed=1)
    assert first["language"].value_counts().to_dict() == {"en": 5, "br": 5, "kab": 5}
    assert first.merge(PAIRS).equals(first), "rows are complete"
    assert drawn(seed=1, pairs=PAIRS.sample(frac=1, random_state=0)).equals(first)
    assert not drawn(seed=2).equals(first)
    assert set(first["pair_id"]) < set(drawn(seed=1, rows=6)["pair_id"])
    assert len(drawn(seed=1, rows=100)) == len(PAIRS)


def inputs(folder: Path, own: Setting, table: ibis.Table, **recipes: Any) -> SweepInputs:
    data = TrainingData(Path(), table, {}, {}, {}, own)
    return SweepInputs(table, data, AcquireOptions.model_construct(), TextOptions(), recipes, DEFAULTS, None, folder)


@pytest.mark.parametrize("method", ["simcse", "ease"])
def test_training_runs_from_different_seeds_have_the_same_data(method: str, tmp_path: Path) -> None:
    strings = tmp_path / "words.txt"
    strings.write_text("".join(f"word {number}\n" for number in range(60)), encoding="utf-8")
    data = {"data": ({"kind": "lines", "path": str(strings)},)} if method == "simcse" else {}
    variant = Variant(method=method, seeds=(1, 2), rows=10)

    def rows(seed: int, own_seed: int) -> pd.DataFrame:
        training: dict[str, Any] = {**TRAINING, "seed": own_seed}
        recipe = {"method": method, "options": {}, "training": training, **data}
        given = inputs(tmp_path / "sweep", setting(), ibis.memtable(PAIRS), **{method: recipe})
        complete = variant.vary(given.recipes, seed).complete("any", DEFAULTS)
        drawn = variant_data(variant, complete, given.data, given).rows.to_pandas()
        return drawn.sort_values("pair_id", ignore_index=True)

    first = rows(1, 42)
    assert len(first) == 10 * (1 if data else len(LANGUAGES))
    assert rows(2, 42).equals(first)
    assert not rows(1, 43).equals(first), "the recipe's own seed draws"


def test_a_resumed_sweep_with_another_encoder_builds_a_new_start(tmp_path: Path) -> None:
    def start(rows: int = 40, seed: int = 1, pooling: str = "mean", **changes: Any) -> Path:
        encoder = {"random": {**SIZES, **changes}, "seed": seed, "pooling": pooling}
        own = setting(languages="en", encoder=encoder)
        texts = [f"The city {number} lies there." for number in range(rows)]
        table = {"language": "en", "page_id": range(rows), "sentence_index": 0, "text": texts}
        return start_encoder(seed, own, inputs(tmp_path, own, ibis.memtable(pd.DataFrame(table))))

    before = start()
    made = (before / "model.safetensors").stat().st_mtime_ns
    assert AutoConfig.from_pretrained(start(layers=3)).num_hidden_layers == 3
    assert len({before, start(seed=2), start(pooling="cls"), start(rows=30)}) == 4
    assert start() == before
    assert (before / "model.safetensors").stat().st_mtime_ns == made, "an equal one is made once"


@pytest.mark.slow
def test_the_encoders_of_two_languages_are_scored_as_one(tmp_path: Path) -> None:
    words = [(f"house{number}", f"Haus{number}") for number in range(30)]
    (tmp_path / "bli").mkdir()
    write(tmp_path / "bli", "en-de", words[:20], words[20:])
    models = {}
    for side, code in enumerate(ENCODERS):
        save_encoder(tiny_encoder([pair[side] for pair in words] * 3), tmp_path / code)
        models[code] = tmp_path / code
    tasks = {"bli": task_parameters("bli", tmp_path / "bli", subsets=["en-de"])}
    built = build_tasks(tasks)
    located = {"bli": locate_sets(built)["bli"].model_dump(mode="json")}
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    joined = {"words": {"encoders": ENCODERS}}
    mine = sweep(variants=[VARIANTS[0], {**VARIANTS[1], "seeds": [2, 3]}], joined=joined)
    assert mine.joined_runs() == {"words seed=2": ("words", 2)}, "the seeds that the variants share"
    data = TrainingData(Path(), ibis.memtable(PAIRS), located, {}, tasks, setting())
    rows = joined_rows(
        SweepRun(mine, setting(), {}), data, {f"words {code} seed=2": folder for code, folder in models.items()}
    )
    encode = EncodeByLanguage({code: encode_with(folder) for code, folder in models.items()})
    expected = built["bli"].evaluate(encode)
    assert [(row["subset"], row["metric"], row["value"]) for row in rows] == [
        (score.subset, score.metric, pytest.approx(score.value)) for score in expected
    ]
    about = {(row["variant"], row["method"], row["seed"], row["model"], row["languages"]) for row in rows}
    assert about == {("words", "joined", 2, "words seed=2", "en de")}


def test_the_parent_run_holds_the_headline_scores_of_each_variant(copy: Project) -> None:
    local = copy.folder / "conf" / "local" / "parameters.yml"
    start = {"method": "start", "name": "w/o training (start)", "seeds": [1, 2]}
    grid = {"method": "simcse", "training": {"max_steps": [2]}, "seeds": [1]}
    local.write_text(yaml.safe_dump({"sweeps": {"grid": {"variants": [start], "grids": [grid]}}}), encoding="utf-8")
    copy.run("sweep", sweep__name="grid", sweep__only="[simcse max_steps=2]")
    first = pd.read_parquet(copy.latest("08_reporting/multilingual/sweeps/grid.parquet"))
    assert set(first["model"]) == {"simcse max_steps=2 seed=1"}
    folder = copy.folder / "data" / "06_models" / "work" / "multilingual.grid"
    assert folder.is_dir()
    copy.run("sweep", sweep="grid")
    assert not folder.exists()
    client = MlflowClient(copy.store)
    experiments = [found.experiment_id for found in client.search_experiments()]
    parent, _ = client.search_runs(experiments, "tags.mlflow.runName LIKE 'sweep grid, en%'")
    table = pd.read_parquet(copy.latest("08_reporting/multilingual/sweeps/grid.parquet"))
    seconds = table.loc[table["method"] == "simcse", "seconds"]
    assert set(seconds) == set(first["seconds"]), "the complete sweep reuses the training run"
    main = table[table["main"] & table["subset"].isin(["average", "en"])]
    means = main.groupby(["variant", "task", "subset"])["value"].mean()
    expected = {
        f"multilingual.grid.{safe_name(variant)}/{task}/{subset}": value
        for (variant, task, subset), value in means.items()
    }
    assert len(expected) == 4
    assert {name: parent.data.metrics[name] for name in expected} == pytest.approx(expected)
    runs = {run.info.run_name for run in client.search_runs(experiments)}
    assert {f"w/o training (start) seed={seed}" for seed in (1, 2)} <= runs
