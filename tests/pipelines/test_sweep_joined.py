"""Encoders of several variants, one for each language, are scored together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import mlflow
import pandas as pd
import pytest

from ease.encoders.encoder import build_encoder, save_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import EncoderOptions, RandomBertOptions
from ease.evaluation.encodes import EncodeByLanguage
from ease.evaluation.sets import locate_sets
from ease.evaluation.tasks import get_task
from ease.pipelines.report.nodes import gather_sweeps
from ease.pipelines.setting import Setting
from ease.pipelines.sweep.nodes import trained_rows
from ease.pipelines.sweep.trainings import score_joined
from ease.pipelines.sweep.variants import Joined, Sweep
from ease.reporting.own import gather_models
from ease.reporting.published import Model
from tests.evaluation.tasks.test_bli import write
from tests.pipelines.test_sweep import SETTING

bli = get_task("bli")

VARIANTS = [{"method": "mirror_bert", "name": f"words {code}", "seeds": [1, 2]} for code in ("en", "de")]
ENCODERS = {"en": "words en", "de": "words de"}


def sweep(joined: dict[str, Any], variants: list[dict[str, Any]] = VARIANTS) -> Sweep:
    return Sweep.model_validate({"name": "mine", "variants": variants, "joined": joined})


def saved_encoder(folder: Path, words: list[str]) -> Path:
    small = RandomBertOptions(layers=1, hidden_size=8, heads=2, intermediate_size=16, vocabulary_size=300)
    save_encoder(build_encoder(EncoderOptions(random=small), words * 3), folder)
    return folder


@pytest.mark.slow
def test_the_encoders_of_two_languages_are_scored_as_one(tmp_path: Path) -> None:
    words = [(f"house{number}", f"Haus{number}") for number in range(30)]
    (tmp_path / "bli").mkdir()
    write(tmp_path / "bli", "en-de", words[:20], words[20:])
    models = {
        code: saved_encoder(tmp_path / code, [pair[side] for pair in words])
        for side, code in enumerate(ENCODERS)
    }
    options = {"bli": {"path": tmp_path / "bli", "subsets": ["en-de"]}}
    located = {"bli": locate_sets(["bli"], options)["bli"].model_dump(mode="json")}
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    joined = Joined.model_validate({"encoders": ENCODERS, "base": "monolingual BERTs"})
    rows = score_joined("words", 2, joined, models, located, options)
    encode = EncodeByLanguage({code: encode_with(folder) for code, folder in models.items()})
    expected = bli.evaluate(encode, bli.options(path=tmp_path / "bli", subsets=("en-de",)))
    assert [(row["subset"], row["metric"], row["value"]) for row in rows] == [
        (score.subset, score.metric, pytest.approx(score.value)) for score in expected
    ]
    about = {(row["variant"], row["method"], row["seed"], row["model"], row["languages"]) for row in rows}
    assert about == {("words", "joined", 2, "words seed=2", "en de")}
    setting = Setting.model_validate({**SETTING, "encoder": {"name": "any", "pooling": "cls_mlp_train"}})
    (own,) = gather_models(gather_sweeps(setting, mine=ibis.memtable(pd.DataFrame(rows))))
    published = {
        "base": "monolingual BERTs",
        "method": "mirror_bert",
        "variants": ["words"],
        "pooling": "cls",
    }
    assert own.is_like(Model.model_validate(published))


def test_the_sweep_joins_the_seeds_that_its_variants_share() -> None:
    variants = [VARIANTS[0], {**VARIANTS[1], "seeds": [2, 3]}]
    joined = sweep({"words": {"encoders": ENCODERS}}, variants)
    assert joined.joined_trainings() == {"words seed=2": ("words", 2)}
    rows = [
        {"model": name, "development": None, "deviation": None}
        for name in ("words seed=2", "words seed=1", "words en seed=1")
    ]
    table = trained_rows(rows, joined, Setting.model_validate(SETTING))
    assert table["model"].to_list() == ["words en seed=1", "words seed=2"]


@pytest.mark.parametrize(
    ("joined", "seeds", "fault"),
    [
        (
            {"words": {"encoders": {"en": "words en", "de": "word de"}}},
            [1],
            "'word de': did you mean words de",
        ),
        ({"words en": {"encoders": ENCODERS}}, [1], "names a variant, 'words en': name it otherwise"),
        ({"words": {"encoders": {"en": "words en"}}}, [1], "at least 2 items"),
        (
            {"words": {"encoders": ENCODERS, "tasks": "sts17"}},
            [1],
            "with an encoder for each language 'sts17'",
        ),
        ({"words": {"encoders": ENCODERS}}, [7], "the variants of words have no seed in common"),
    ],
)
def test_faulty_joins_are_refused(joined: dict[str, Any], seeds: list[int], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        sweep(joined, [VARIANTS[0], {**VARIANTS[1], "seeds": seeds}])
