"""Encoders that cannot be loaded are detected from their files, before the weights are read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ease.encoders.check import check_encoder
from ease.encoders.encoder import load_encoder, save_encoder
from ease.errors import EaseError
from tests.methods.made import encoder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder with a model."""
    save_encoder(encoder(), tmp_path / "model")
    return tmp_path / "model"


def unknown_architecture(model: Path) -> None:
    config = json.loads((model / "config.json").read_text("utf-8"))
    (model / "config.json").write_text(json.dumps({**config, "model_type": "nobert"}), encoding="utf-8")


def truncated(model: Path) -> None:
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-10])


def without_weights(model: Path) -> None:
    (model / "model.safetensors").unlink()


def without_a_shard(model: Path) -> None:
    (model / "model.safetensors").rename(model / "model-1.safetensors")
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (model / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")


def with_a_layer_too_many(model: Path) -> None:
    config = json.loads((model / "config.json").read_text("utf-8"))
    layers = config["num_hidden_layers"] + 1
    (model / "config.json").write_text(json.dumps({**config, "num_hidden_layers": layers}), encoding="utf-8")


def with_a_layer_too_few(model: Path) -> None:
    config = json.loads((model / "config.json").read_text("utf-8"))
    (model / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 0}), encoding="utf-8")


def without_configuration(model: Path) -> None:
    (model / "config.json").unlink()


def test_loadable_encoders_raise_nothing(model: Path) -> None:
    check_encoder("random:")
    check_encoder(str(model))
    check_encoder(os.path.relpath(model))
    (model / "modules.json").unlink()  # a folder of transformers
    check_encoder(str(model))


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (unknown_architecture, "nobert"),
        (truncated, "model.safetensors is not a complete file"),
        (without_weights, "has no weights: none of model.safetensors"),
        (without_a_shard, "model-2.safetensors is missing"),
        (with_a_layer_too_many, "have 1 layers, but its config.json says `num_hidden_layers` 2"),
        (with_a_layer_too_few, "have 1 layers, but its config.json says `num_hidden_layers` 0"),
        (without_configuration, "there is no config.json in it"),
    ],
)
def test_a_model_that_does_not_load_is_refused_with_the_cause(
    damage: Callable[[Path], None], expected: str, model: Path
) -> None:
    damage(model)
    with pytest.raises(Exception, match=r"."):
        load_encoder(str(model))
    with pytest.raises(EaseError) as refused:
        check_encoder(str(model))
    assert str(refused.value).startswith(f"Encoder '{model}' does not load: ")
    assert expected in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "name", ["no/such-encoder", "nowhere", "tests", "vectors.txt", "random:bert", "/no/a/b"]
)
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(EaseError, match=f"(Encoder '{name}' does not load|Unknown encoder '{name}')"):
        check_encoder(name)
