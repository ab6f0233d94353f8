"""Encoders that cannot be loaded are detected from their files, before the weights are read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

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


def with_a_layer_too_many(model: Path) -> None:
    config = json.loads((model / "config.json").read_text("utf-8"))
    layers = config["num_hidden_layers"] + 1
    (model / "config.json").write_text(json.dumps({**config, "num_hidden_layers": layers}), encoding="utf-8")


def without_tokenizer(model: Path) -> None:
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (model / file).unlink()


def with_tokenizer(change: Callable[[str], str]) -> Callable[[Path], None]:
    def damage(model: Path) -> None:
        file = model / "tokenizer.json"
        file.write_text(change(file.read_text("utf-8")), encoding="utf-8")

    return damage


def with_a_token_too_many(tokenizer: str) -> str:
    made = Tokenizer.from_str(tokenizer)
    made.add_tokens(["beyond"])
    return made.to_str()


def with_code(model: Path) -> None:
    """As of a model whose code asks on a terminal whether to run."""
    config = json.loads((model / "config.json").read_text("utf-8"))
    own = {"model_type": "own", "auto_map": {"AutoConfig": "own.Config", "AutoModel": "own.Model"}}
    (model / "config.json").write_text(json.dumps({**config, **own}), encoding="utf-8")
    (model / "own.py").write_text("raise SystemExit('The code of the folder has run')")


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
        (truncated, "model are incomplete ("),
        (without_weights, "has no weights: none of model.safetensors"),
        (with_a_layer_too_many, "lack `encoder.layer.1.attention.output.LayerNorm.bias`"),
        (without_tokenizer, "it has no tokenizer"),
        (with_tokenizer(lambda text: ""), "model is broken ("),
        (with_tokenizer(with_a_token_too_many), ", but the embeddings end at "),
        (with_code, "contains custom code"),
    ],
)
def test_a_model_that_does_not_load_is_refused_with_the_cause(
    damage: Callable[[Path], None], expected: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda prompt: "y")  # at a terminal
    damage(model)
    with pytest.raises(EaseError, match="does not load"):
        load_encoder(str(model))
    with pytest.raises(EaseError) as refused:
        check_encoder(str(model))
    assert str(refused.value).startswith(f"Encoder '{model}' does not load: ")
    assert expected in str(refused.value)
    assert "\n" not in str(refused.value)


def pickled(weights: object) -> Callable[[Path], None]:
    return lambda file: torch.save(weights, file)  # noqa: TID251


@pytest.mark.parametrize(
    "write",
    [pickled({"code": os.getcwd}), lambda file: file.write_bytes(b"oid")],
)
def test_pickled_weights_with_other_objects_are_refused_in_one_line(
    write: Callable[[Path], None], model: Path
) -> None:
    (model / "model.safetensors").unlink()
    write(model / "pytorch_model.bin")
    with pytest.raises(EaseError) as refused:
        load_encoder(str(model))
    assert "holds more than tensors, which may run code: save it as safetensors" in str(refused.value)
    assert "weights_only" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_only_a_transformer_is_accepted_where_one_is_trained(model: Path, tmp_path: Path) -> None:
    check_encoder(str(model), transformer=True)
    check_encoder("random:", transformer=True)
    vectors = tmp_path / "vectors.vec"
    vectors.write_text("a 1 2\nb 3 4\n")
    static = SentenceTransformer(modules=[StaticEmbedding(Tokenizer(WordLevel({"a": 0})), embedding_dim=2)])
    save_encoder(static, tmp_path / "static")
    for name in map(str, (vectors, tmp_path / "static")):
        check_encoder(name)
        with pytest.raises(EaseError, match=f"Encoder '{name}' is not a transformer, .* needs one: give"):
            check_encoder(name, transformer=True)


@pytest.mark.parametrize(
    "name", ["no/such-encoder", "nowhere", "tests", "vectors.txt", "random:bert", "/no/a/b"]
)
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(EaseError, match=f"(Encoder '{name}' does not load|Unknown encoder '{name}')"):
        check_encoder(name)
