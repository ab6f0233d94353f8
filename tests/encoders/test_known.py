"""The files of published encoders: complete, of the sizes that their architectures have, and read with the encoder."""

from __future__ import annotations

from pathlib import Path

import mteb
import pytest
import torch
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
    given = {field for field in ("training", "methods", "prompts") if getattr(file, field)}
    assert {"architecture", "parameters", *given} <= set(file.sources)
    assert "batch_size" in file.training or "batch_size" in file.methods["ease"].training


@pytest.mark.parametrize("name", [name for name in known_names() if known(name).kind == "sentence_encoder"])
def test_a_file_agrees_with_mteb(name: str) -> None:
    file, meta = known(name), mteb.get_model_meta(known(name).name)
    assert file.revision == meta.revision
    assert file.dimension == meta.embed_dim
    assert file.parameters == pytest.approx(meta.n_parameters, rel=0.005)
    # MTEB counts 514 positions of XLM-R, 2 of which are no positions of tokens, and the 512 of LaBSE's transformer.
    assert file.max_tokens <= (meta.max_tokens or 0)


def test_an_encoder_gets_the_prompt_of_its_file(tmp_path: Path) -> None:
    """A folder named like the published encoder encodes with its prompt; saved anywhere, it keeps the prompt."""
    plain, named, again = tmp_path / "mine", tmp_path / "multilingual-e5-small", tmp_path / "again"
    encoder = tiny_encoder(["Rome is old."])
    save_encoder(encoder, plain)
    save_encoder(encoder, named)
    loaded = load_encoder(str(named))
    assert loaded.default_prompt_name == "query"
    wanted = encoder.encode(["query: Rome is old."])
    assert encode_with(loaded)(["Rome is old."]) == pytest.approx(wanted, abs=1e-6)
    assert encode_with(load_encoder(str(plain)))(["Rome is old."]) != pytest.approx(wanted, abs=1e-3)
    save_encoder(loaded, again)
    assert encode_with(load_encoder(str(again)))(["Rome is old."]) == pytest.approx(wanted, abs=1e-6)
