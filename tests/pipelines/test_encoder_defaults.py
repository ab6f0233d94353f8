"""Nulls in a recipe are replaced by the defaults for the encoder."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from ease.encoders.defaults import EncoderDefaults, complete_parameters, warn_of_temperatures
from ease.encoders.known import known_encoder, known_names
from ease.methods import method_options
from ease.pipelines.recipe import CompleteRecipe, Recipe

NULLS = {"batch_size": None, "learning_rate": None, "max_steps": None, "epochs": None, "threads": None}
TABLE: dict[str, Any] = {
    "random": {
        "training": {"batch_size": 128, "learning_rate": 3e-3, "max_steps": 400, "threads": 1},
        "methods": {"ease": {"options": {"temperature": 0.05}}, "mlm": {"training": {"epochs": 4}}},
    },
    "pretrained": {
        "training": {"batch_size": 64, "learning_rate": 3e-5, "epochs": 2},
        "methods": {"ease": {"options": {"temperature": 10}}},
    },
    "roberta-base": {"methods": {"ease": {"training": {"batch_size": 256}}}},
    "xlm-roberta-base": {"methods": {"ease": {"training": {"batch_size": 32}}}},
}


def complete(encoder: str, method: str = "ease", **given: Any) -> CompleteRecipe:
    """Complete for an encoder a recipe of nulls and the given values."""
    data = None if method == "ease" else [{"kind": "pairs"}]
    options = {"temperature": given.pop("temperature", None)} if method == "ease" else {}
    recipe = Recipe(method=method, options=options, data=data, training={**NULLS, "seed": 7, **given})
    return recipe.complete(encoder, EncoderDefaults.model_validate(TABLE))


def loop(recipe: CompleteRecipe) -> tuple[Any, ...]:
    """Return the loop's parameters that depend on the encoder."""
    found = recipe.training
    return found.batch_size, found.learning_rate, found.max_steps, found.epochs, found.threads


def test_null_means_the_default_for_the_kind_of_encoder() -> None:
    random, pretrained = complete("random:"), complete("org/of-my-own")
    assert loop(random) == (128, 3e-3, 400, 1, 1)
    assert loop(pretrained) == (64, 3e-5, None, 2, None)
    assert [recipe.options.model_dump()["temperature"] for recipe in (random, pretrained)] == [0.05, 10]
    assert random.training.seed == 7


@pytest.mark.parametrize("name", ["roberta-base", "/models/roberta-base/"])
def test_the_row_of_an_encoder_takes_precedence_over_its_kind(name: str) -> None:
    # The learning rate is that of the encoder's file, which goes before the kind.
    assert loop(complete(name)) == (256, 5e-5, None, 2, None)
    assert loop(complete(name, "mirror_bert"))[0] == 64, "row and file say nothing of other methods"


def write_config(folder: Path, **config: Any) -> str:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return str(folder)


@pytest.mark.parametrize(
    ("config", "batch", "named"),
    [
        ({"_name_or_path": "FacebookAI/xlm-roberta-base"}, 32, "encoders.xlm-roberta-base, methods.ease"),
        ({}, 64, "ease on mine, defaults from encoders.pretrained, methods.ease, encoders.pretrained:"),
    ],
)
def test_a_folder_belongs_to_the_row_of_its_origin(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, config: dict[str, Any], batch: int, named: str
) -> None:
    with caplog.at_level(logging.INFO):
        assert loop(complete(write_config(tmp_path / "mine", **config), epochs=3))[0] == batch
    (line,) = caplog.messages
    assert named in line
    assert "epochs" not in line, "only defaults are named"
    assert f"batch_size {batch}" in line


def test_the_architecture_of_a_language_model_gives_no_file_to_an_encoder_of_sentences(tmp_path: Path) -> None:
    config = known_encoder("roberta-base").architecture  # type: ignore[union-attr]
    plain = write_config(tmp_path / "plain", **config)
    trained = write_config(tmp_path / "trained", **config)
    (tmp_path / "trained" / "modules.json").write_text("[]", encoding="utf-8")
    assert [loop(complete(name))[0] for name in (plain, trained)] == [128, 64]


OTHER_RATES = {
    # Language models with a rate of their own.
    "ModernBERT-base": 5e-5,
    "mmBERT-base": 5e-5,
    "mmBERT-small": 5e-5,
    "bert-base-multilingual-cased": 5e-5,
    "roberta-base": 5e-5,
    "bert-large-uncased": 1e-5,
    "roberta-large": 1e-5,
    "xlm-roberta-large": 1e-5,
    # Trained by LoRA.
    "Qwen3-Embedding-0.6B": 1e-4,
    "bge-m3": 1e-4,
    "multilingual-e5-large": 1e-4,
}
WITH_ENTITIES = {"bert-base-multilingual-cased", "bert-base-uncased", "roberta-base", "xlm-roberta-base"}
"""The language models of EASE's paper, on which EASE+ keeps λ"""


@pytest.mark.parametrize("name", known_names())
def test_ease_plus_has_the_documented_defaults_on_published_encoders(name: str) -> None:
    """docs/own_encoder.md and docs/ease_plus.md list the exceptions."""
    completed = complete_parameters({}, {}, encoder=f"org/{name}", method="ease_plus")
    assert completed.training["learning_rate"] == OTHER_RATES.get(name, 3e-5)
    weights = (0.01, 0.0) if name in WITH_ENTITIES else (0.0, 1.0)
    assert (completed.options["entity_weight"], completed.options["attraction"]) == weights
    if name not in OTHER_RATES and name not in WITH_ENTITIES:
        assert completed.places["training.learning_rate"] == "encoders.pretrained, methods.ease_plus"


def test_lora_gets_the_layers_of_the_encoder_s_file() -> None:
    completed = complete_parameters({}, {"lora": {"rank": 4}}, encoder="BAAI/bge-m3", method="ease")
    assert completed.training["lora"] == {
        "rank": 4,
        "alpha": 32,
        "dropout": 0.05,
        "targets": ("query", "key", "value", "dense"),
    }


def test_a_given_value_wins_and_one_duration_excludes_the_other() -> None:
    given = complete("random:", learning_rate=1e-4, epochs=3, temperature=0.1)
    assert loop(given) == (128, 1e-4, None, 3, 1)
    assert given.options.model_dump()["temperature"] == 0.1
    assert loop(complete("of-my-own", max_steps=5))[2:4] == (5, 1)
    assert loop(complete("random:", "mlm"))[2:4] == (None, 4), "a method's duration goes before the kind's"


def test_a_temperature_far_above_the_encoder_s_own_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    complete("intfloat/multilingual-e5-small", temperature=0.02)
    (warning,) = (record.message for record in caplog.records if record.levelno == logging.WARNING)
    assert warning == (
        "multilingual-e5-small was trained with a temperature of 0.01, ease has self_temperature 0.05: the encoder may "
        "lose more than it learns"
    )
    caplog.clear()
    for encoder, method in (("intfloat/multilingual-e5-small", "ease_plus"), ("org/of-my-own", "ease")):
        completed = complete_parameters({}, {}, encoder=encoder, method=method)
        warn_of_temperatures(encoder, method, method_options(method, completed.options))
    assert not caplog.records
