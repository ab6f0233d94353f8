"""The files of published encoders: complete, of the sizes that their architectures have, and read with the encoder."""

from __future__ import annotations

import logging
from pathlib import Path

import mteb
import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import CONFIG_MAPPING, AutoModel

from ease.encoders.encoder import describe_prompts, load_encoder, save_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.known import KnownEncoder, known_encoder, known_names
from ease.encoders.prompts import prompt_variants
from ease.methods import method_names, method_options
from ease.similarity.encode import Role
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


def encode(folder: Path, task_type: str, role: Role | None = None) -> np.ndarray:
    """Encode a sentence as in a task."""
    function = encode_with(load_encoder(str(folder))).for_task("mine", task_type)
    if role is not None:
        function = function.in_role(role)
    return function(["Rome is old."])


def test_an_encoder_gets_the_prompts_of_its_file(tmp_path: Path) -> None:
    """The file is found by the hub's cache, the base model or the downloaded commit; saved anywhere, prompts stay."""
    encoder = tiny_encoder(["Rome is old.", "classification: search_query: "])
    plain = encoder.encode(["Rome is old."])
    prompted = encoder.encode(["classification: Rome is old."])
    query = encoder.encode(["search_query: Rome is old."])
    downloaded = write_folder(encoder, tmp_path / "downloaded")
    metadata = downloaded / ".cache" / "huggingface" / "download" / "config.json.metadata"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(f"{known('nomic-embed-text-v1.5').revision}\netag\n1.0\n", encoding="utf-8")
    recognised = [
        write_folder(encoder, tmp_path / "models--nomic-ai--nomic-embed-text-v1.5" / "snapshots" / "1"),
        write_folder(encoder, tmp_path / "mine", "nomic-ai/nomic-embed-text-v1.5"),
        downloaded,
    ]
    for folder in recognised:
        again = write_folder(load_encoder(str(folder)), tmp_path / "again" / folder.name)
        for place in (folder, again):
            assert encode(place, "STS") == pytest.approx(prompted, abs=1e-6)
            assert encode(place, "BitextMining") == pytest.approx(plain, abs=1e-6)
            assert encode(place, "Retrieval", "query") == pytest.approx(query, abs=1e-6)
    other = write_folder(encoder, tmp_path / "other", "org/of-somebody")
    assert encode(other, "STS") == pytest.approx(plain, abs=1e-6)
    text = "'classification: ' (training, STS, Classification, PairClassification); 'clustering: ' (Clustering)"
    described = describe_prompts(load_encoder(str(downloaded)))
    assert described == f"Prompts before sentences: {text}; none (BitextMining)."


def test_the_name_of_a_folder_changes_no_embedding(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    encoder = tiny_encoder(["Rome is old."])
    named = write_folder(encoder, tmp_path / "multilingual-e5-small")
    renamed = write_folder(encoder, tmp_path / "me5")
    for purpose in (("STS", None), ("BitextMining", None), ("Retrieval", "query")):
        assert (encode(named, *purpose) == encode(renamed, *purpose)).all()  # type: ignore[arg-type]
    with caplog.at_level(logging.INFO):
        load_encoder(str(named))
    assert "is named like a published encoder" in caplog.messages[-1]


def test_sentences_of_multilingual_e5_have_no_prompt_but_queries_do(tmp_path: Path) -> None:
    encoder = tiny_encoder(["Rome is old.", "query: "])
    folder = write_folder(encoder, tmp_path / "mine", "intfloat/multilingual-e5-small")
    for task_type in ("STS", "BitextMining", "Clustering"):
        assert encode(folder, task_type) == pytest.approx(encoder.encode(["Rome is old."]), abs=1e-6)
    assert describe_prompts(load_encoder(str(folder))) == "Prompts before sentences: none."
    assert encode(folder, "Retrieval", "query") == pytest.approx(encoder.encode(["query: Rome is old."]), abs=1e-6)


def test_prompts_that_were_emptied_stay_empty(tmp_path: Path) -> None:
    """A model that was trained without the prompts of its base model does not get them back when it is loaded."""
    encoder = tiny_encoder(["Rome is old.", "classification: "])
    folder = write_folder(encoder, tmp_path / "start", "nomic-ai/nomic-embed-text-v1.5")
    start = load_encoder(str(folder))
    plain, prompted = prompt_variants(start.prompts, start.default_prompt_name)
    assert (prompted.prompts, prompted.default, prompted.text) == (start.prompts, "STS", "classification: ")
    start.prompts, start.default_prompt_name = plain
    trained = write_folder(start, tmp_path / "trained", "nomic-ai/nomic-embed-text-v1.5")
    for task_type in ("STS", "Clustering", "Reranking"):
        assert encode(trained, task_type) == pytest.approx(encoder.encode(["Rome is old."]), abs=1e-6)
    assert load_encoder(str(trained)).prompts["query"] == "search_query: "
