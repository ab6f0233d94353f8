"""The files of published encoders: complete, of the sizes that their architectures have, and read with the encoder."""

from __future__ import annotations

import logging
from pathlib import Path

import mteb
import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import CONFIG_MAPPING, AutoModel

from ease.encoders.encoder import load_encoder, save_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.known import KnownEncoder, known_encoder, known_names
from ease.methods import method_names, method_options
from ease.training.options import training_options
from tests.encoders.tiny import tiny_encoder

DENSE = {"LaBSE": 768 * 768 + 768, "embeddinggemma-300m": 2 * 768 * 3072}
"""Weights of the layers after the pooling"""


def known(name: str) -> KnownEncoder:
    """Return the file of an encoder, which exists."""
    found = known_encoder(name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", known_names())
def test_a_file_agrees_with_its_architecture_and_names_its_sources(name: str) -> None:
    file = known(name)
    sizes = dict(file.architecture)
    with torch.device("meta"):
        model = AutoModel.from_config(CONFIG_MAPPING[sizes.pop("model_type")](**sizes))
    weights = sum(weight.numel() for weight in model.parameters())
    assert file.parameters == weights + DENSE.get(name, 0)
    linear = {path.rpartition(".")[2] for path, layer in model.named_modules() if isinstance(layer, torch.nn.Linear)}
    assert set(file.lora_targets) == linear
    assert file.name.rpartition("/")[2] == name
    training_options(file.training)
    for method, defaults in file.methods.items():
        assert method in method_names()
        method_options(method, defaults.options)
        training_options({**file.training, **defaults.training})
    present = {field for field in ("training", "methods", "prompts") if getattr(file, field)}
    assert {"architecture", "parameters", *present} <= set(file.sources)


@pytest.mark.parametrize("name", [name for name in known_names() if known(name).kind == "sentence_encoder"])
def test_a_file_agrees_with_mteb(name: str) -> None:
    file, meta = known(name), mteb.get_model_meta(known(name).name)
    assert file.revision == meta.revision
    assert file.dimension == meta.embed_dim
    assert file.parameters == pytest.approx(meta.n_parameters, rel=0.005)
    # MTEB counts 514 positions of XLM-R, 2 of which are no positions of tokens, and the 512 of LaBSE's transformer.
    assert file.max_tokens <= (meta.max_tokens or 0)


def write_folder(encoder: SentenceTransformer, folder: Path, base: str | None = None) -> Path:
    """Save an encoder, whose card may name the model that it was made from."""
    card = None
    if base is not None:
        card = f"---\nbase_model: {base}\n---\n"
    save_encoder(encoder, folder, card)
    return folder


def test_an_encoder_gets_the_prompt_of_its_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The file is found by the folder's name, the hub's cache or the base model; saved anywhere, the prompt is kept."""
    encoder = tiny_encoder(["Rome is old."])
    expected = encoder.encode(["query: Rome is old."])
    cache = tmp_path / "models--intfloat--multilingual-e5-small" / "snapshots" / "1"
    recognised = [
        write_folder(encoder, tmp_path / "multilingual-e5-small"),
        write_folder(encoder, cache),
        write_folder(encoder, tmp_path / "mine", "intfloat/multilingual-e5-small"),
    ]
    for folder in recognised:
        with caplog.at_level(logging.INFO):
            loaded = load_encoder(str(folder))
        assert "has the prompt 'query: ' before each sentence, by multilingual-e5-small.yml" in caplog.messages[-1]
        assert encode_with(loaded)(["Rome is old."]) == pytest.approx(expected, abs=1e-6)
        again = write_folder(loaded, tmp_path / "again" / folder.name)
        assert encode_with(load_encoder(str(again)))(["Rome is old."]) == pytest.approx(expected, abs=1e-6)
    other = write_folder(encoder, tmp_path / "other", "org/of-somebody")
    assert encode_with(load_encoder(str(other)))(["Rome is old."]) != pytest.approx(expected, abs=1e-3)
