"""Encoders that cannot be loaded are detected from their files, before the weights are read."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, StaticEmbedding
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from ease.encoders.check import check_encoder
from ease.encoders.encoder import load_encoder, save_encoder
from ease.errors import EaseError
from tests.methods.made import encoder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    save_encoder(encoder(), tmp_path / "model")
    return tmp_path / "model"


def with_config(**values: Any) -> Callable[[Path], None]:
    def damage(model: Path) -> None:
        config = json.loads((model / "config.json").read_text("utf-8"))
        (model / "config.json").write_text(json.dumps({**config, **values}), encoding="utf-8")
        # As of a model whose code asks on a terminal whether to run.
        (model / "own.py").write_text("raise SystemExit('The code of the folder has run')")

    return damage


def truncated(model: Path) -> None:
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-10])


def without(pattern: str) -> Callable[[Path], None]:
    return lambda model: [file.unlink() for file in model.glob(pattern)]  # type: ignore[func-returns-value, return-value]


def with_a_token_too_many(model: Path) -> None:
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.add_tokens(["beyond"])
    tokenizer.save(str(model / "tokenizer.json"))


def with_length(length: Any) -> Callable[[Path], None]:
    def damage(model: Path) -> None:
        file = model / "sentence_bert_config.json"
        file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), "max_seq_length": length}), "utf-8")

    return damage


def with_file(name: str, text: str) -> Callable[[Path], None]:
    return lambda model: (model / name).write_text(text, encoding="utf-8")  # type: ignore[func-returns-value, return-value]


def without_a_module(model: Path) -> None:
    shutil.rmtree(next(model.glob("*_Pooling")))


def with_cut_pickled_weights(model: Path) -> None:
    torch.save(load_file(model / "model.safetensors"), model / "pytorch_model.bin")  # noqa: TID251
    (model / "model.safetensors").unlink()
    weights = model / "pytorch_model.bin"
    weights.write_bytes(weights.read_bytes()[:-1000])


def as_pointer(name: str) -> Callable[[Path], None]:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    return lambda model: (model / name).write_text(pointer, encoding="utf-8")  # type: ignore[func-returns-value, return-value]


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        *((with_length(length), f"`max_seq_length` is {length!r}, in sent") for length in (-1, 0, "64", 1.5, True)),
        *((as_pointer(name), f"{name} is a pointer of Git LFS") for name in ("model.safetensors", "tokenizer.json")),
        (as_pointer("1_Pooling/config.json"), "config.json is a pointer of Git LFS"),
        (with_config(model_type="nobert"), "transformers does not know its `model_type` 'nobert', in config.json"),
        (with_file("config.json", "{}"), "transformers does not know its `model_type` None"),
        (with_file("config.json", "[]"), "config.json is no configuration of a model: get it again"),
        (with_file("config.json", '{"model_type": "ber'), "config.json is not JSON: get it again"),
        (with_file("modules.json", "[]"), "modules.json is no list of modules (List should have at least 1 item"),
        (with_file("modules.json", '[{"idx": 0, "path": ""}]'), "modules.json is no list of modules (Field required)"),
        (with_file("1_Pooling/config.json", "<html>"), "1_Pooling/config.json is not JSON: get it again"),
        (without_a_module, "1_Pooling, which does not exist: get the folder again"),
        (with_file("tokenizer.json", '{"version": "1.0"}'), "model is broken: get its files again"),
        (with_cut_pickled_weights, "model are cut or damaged"),
        (truncated, "model are cut or damaged"),
        (without("model.safetensors"), "has no weights: none of model.safetensors"),
        (with_config(num_hidden_layers=2), "lack `encoder.layer.1.attention.output.LayerNorm.bias`"),
        (with_config(num_hidden_layers=0), "have `encoder.layer.0.attention.output.LayerNorm.bias`, which it does not"),
        (without("tokenizer*"), "it has no tokenizer"),
        (with_a_token_too_many, ", but the embeddings end at "),
        (with_config(model_type="own", auto_map={"AutoConfig": "own.C", "AutoModel": "own.M"}), "contains custom code"),
    ],
)
def test_a_model_that_does_not_load_is_refused_with_the_cause(
    damage: Callable[[Path], None], expected: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda prompt: "y")  # at a terminal
    damage(model)
    with pytest.raises(EaseError, match="does not load"):
        load_encoder(str(model))
    with pytest.raises(EaseError, match=rf"^Encoder '{model}' does not load: .*{re.escape(expected)}.*\Z"):
        check_encoder(str(model))


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("part", [0, 2])
def test_weights_that_are_not_finite_are_refused(part: int, number: float, tmp_path: Path) -> None:
    # A copy: other tests share the encoder.
    model = deepcopy(encoder())
    dimension = model.get_embedding_dimension()
    assert dimension is not None
    model.append(Dense(dimension, 4))
    with torch.no_grad():
        list(model[part].parameters())[-1].view(-1)[-1] = number
    save_encoder(model, tmp_path / "model")
    with pytest.raises(EaseError, match="does not load: its weights `.*` hold NaN or infinite numbers"):
        load_encoder(str(tmp_path / "model"))


def test_pickled_weights_with_other_objects_are_refused(model: Path) -> None:
    (model / "model.safetensors").unlink()
    torch.save({"code": os.getcwd}, model / "pytorch_model.bin")  # noqa: TID251
    with pytest.raises(EaseError, match="holds more than tensors, which may run code: save it as safetensors"):
        load_encoder(str(model))


def test_only_a_transformer_is_accepted_where_one_is_trained(model: Path, tmp_path: Path) -> None:
    check_encoder("random:")
    check_encoder(os.path.relpath(model), transformer=True)
    (model / "modules.json").unlink()  # a folder of transformers
    check_encoder(str(model), transformer=True)
    vectors = tmp_path / "vectors.vec"
    vectors.write_text("a 1 2\nb 3 4\n")
    static = SentenceTransformer(modules=[StaticEmbedding(Tokenizer(WordLevel({"a": 0})), embedding_dim=2)])
    save_encoder(static, tmp_path / "static")
    for name in map(str, (vectors, tmp_path / "static")):
        check_encoder(name)
        with pytest.raises(EaseError, match=f"Encoder '{name}' is not a transformer, .* needs one: give"):
            check_encoder(name, transformer=True)


@pytest.mark.parametrize("name", ["no/such-encoder", "tests", "vectors.txt", "random:bert", "/no/a/b"])
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(EaseError, match=f"(Encoder '{name}' does not load|Unknown encoder '{name}')"):
        check_encoder(name)
