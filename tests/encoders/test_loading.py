"""Encoders are loaded as they were saved, or as options say, and what was used is recorded."""

from __future__ import annotations

import gc
import socket
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize
from transformers import PreTrainedModel

import ease
from ease.encoders.check import check_encoder
from ease.encoders.encoder import describe_encoder, load_for_evaluation, save_encoder
from ease.encoders.encoding import encode_with
from ease.encoders.options import LoadingOptions
from ease.errors import EaseError
from ease.similarity.encode import encode_for, encode_in_role
from tests.encoders.tiny import tiny_encoder
from tests.hub_server import COMMIT, HubServer, running_hub, use_hub

SENTENCES = ["Berlin is the capital of Germany", "A short one", "Another sentence that is rather long"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved encoder with prompts, a normalising module, a truncated dimension and a maximum length."""
    encoder = tiny_encoder(SENTENCES)
    encoder.add_module("2", Normalize())
    encoder.prompts = {"query": "find: ", "document": "text: ", "Clustering": "topic: "}
    encoder.default_prompt_name = "Clustering"
    encoder.truncate_dim, encoder.max_seq_length = 8, 20
    path = tmp_path_factory.mktemp("encoders") / "made"
    save_encoder(encoder, path)
    return path


def loaded(folder: Path, **options: Any) -> SentenceTransformer:
    return load_for_evaluation(str(folder), LoadingOptions(**options))


def test_encoders_are_loaded_by_several_threads(folder: Path) -> None:
    """transformers replaces this method for all threads while it reads a model."""
    method = PreTrainedModel.tie_weights
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(loaded, [folder] * 24))
    assert PreTrainedModel.tie_weights is method


def test_an_encoder_that_is_no_longer_used_is_freed_before_the_next_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ease.encoders.encoder.LARGE_ENCODER", 1000)
    gc.disable()
    try:
        encode_with(loaded(folder))(SENTENCES)
        first = weakref.ref(encoder := loaded(folder))
        encode_with(encoder)(SENTENCES)
        del encoder
        loaded(folder)
        assert first() is None
    finally:
        gc.enable()


def test_what_was_saved_is_used_by_default(folder: Path) -> None:
    encoder = loaded(folder)
    assert describe_encoder(encoder, str(folder)) == {
        **{"revision": None, "used_pooling": "mean", "normalized": True, "embedding_dimension": 8},
        **{"precision": "fp32", "max_length": 20},
    }
    plain = SentenceTransformer(str(folder), device="cpu")
    encode = encode_with(encoder)
    given = plain.encode(SENTENCES, prompt="topic: ", normalize_embeddings=True)
    np.testing.assert_allclose(encode_for(encode, "stc", "Clustering")(SENTENCES), given, atol=1e-6)
    retrieval = encode_for(encode, "belebele", "Retrieval")
    queries, passages = (encode_in_role(retrieval, role)(SENTENCES) for role in ("query", "passage"))  # type: ignore[arg-type]
    np.testing.assert_allclose(queries, plain.encode_query(SENTENCES, normalize_embeddings=True), atol=1e-6)
    np.testing.assert_allclose(passages, plain.encode_document(SENTENCES, normalize_embeddings=True), atol=1e-6)
    assert retrieval.describe_prompts() == "query: 'find: '; passage: 'text: '"  # type: ignore[attr-defined]


def test_options_replace_what_was_saved(folder: Path) -> None:
    changed: dict[str, Any] = {"normalize": False, "dimension": 4, "precision": "bf16", "max_length": 10}
    encoder = loaded(folder, **changed, pooling="cls", prompts={"all": "say: "})
    encode = encode_for(encode_with(encoder), "stc", "Clustering")
    assert encode.describe_prompts() == "say: "  # type: ignore[attr-defined]
    assert encode(SENTENCES).shape == (3, 4)
    assert describe_encoder(encoder, str(folder))["used_pooling"] == "cls"
    assert not np.allclose(np.linalg.norm(encode(SENTENCES), axis=1), 1, atol=0.05)
    assert {weight.dtype.itemsize for weight in encoder.parameters()} == {2}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dimension": 17}, r"has 16 dimensions: set `dimension` to at most 16, not 17"),
        ({"max_length": 1000}, r"accepts at most 128 tokens: set `max_length` to that or less, not 1000"),
        ({"default_prompt": "STS"}, r"no prompt 'STS'"),
        ({"revision": "main"}, r"is a folder, which has no revision: remove `revision`"),
    ],
)
def test_options_that_do_not_fit_the_encoder_are_refused(folder: Path, options: Any, message: str) -> None:
    with pytest.raises(EaseError, match=message):
        loaded(folder, **options)


@pytest.fixture
def hub(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A hub with the encoder `someone/made`, and an empty cache."""
    with running_hub() as server:
        paths = [path for path in folder.rglob("*") if path.is_file()]
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
        server.repositories = {"models/someone/made": files, "models/someone/gated": files}
        server.gated = {"models/someone/gated"}
        use_hub(server.address, tmp_path, monkeypatch)
        yield server


@pytest.mark.usefixtures("hub")
def test_an_encoder_of_the_hub_loads_at_a_recorded_commit_and_later_without_the_hub(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = loaded(folder).encode(SENTENCES)

    def check(revision: str | None) -> None:
        encoder = load_for_evaluation("someone/made", LoadingOptions(revision=revision))
        assert (encoder.encode(SENTENCES) == expected).all()
        assert describe_encoder(encoder, "someone/made", revision)["revision"] == COMMIT

    check_encoder("someone/made")
    check(None)
    use_hub("http://127.0.0.1:1", tmp_path, monkeypatch)
    before = time.monotonic()
    check_encoder("someone/made")
    for revision in (None, "main", COMMIT):
        check(revision)
    assert time.monotonic() - before < 5, "the hub was asked again and again"


@pytest.mark.parametrize(
    ("name", "revision", "cause"),
    [
        ("someone/other", None, "has no such model or a private one: check the name or set"),
        ("someone/made", "v2", "has no revision 'v2' of it"),
        ("someone/gated", None, "access to it is restricted: accept its conditions at"),
    ],
)
def test_a_model_that_the_hub_does_not_give_is_refused_with_the_cause(
    hub: HubServer, name: str, revision: str | None, cause: str
) -> None:
    with pytest.raises(EaseError, match=f"^Encoder '{name}' does not load: .*{cause}"):
        load_for_evaluation(name, LoadingOptions(revision=revision))


@pytest.mark.parametrize(("timeout", "cause"), [(5, "refused"), (0.2, "(no answer|timed out)")])
def test_without_network_a_name_fails_soon_wherever_an_encoder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timeout: float, cause: str
) -> None:
    pairs = pd.DataFrame({"sentence": SENTENCES, "entity": [1, 2, 1]})
    (tmp_path / "stsb").mkdir()
    (tmp_path / "stsb" / "sts-dev.csv").write_text("a\tb\tc\td\t5\tOne.\tOne.\n" * 3, encoding="utf-8")
    calls: list[Callable[[], object]] = [
        lambda: ease.train(pairs, "someone/other", batch_size=3, max_steps=1),
        lambda: ease.evaluate("someone/other", "stsb:dev", data=tmp_path),
    ]
    monkeypatch.setattr("ease.encoders.check.HUB_TIMEOUT", timeout)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts connections, and never answers
        port = 1 if cause == "refused" else silent.getsockname()[1]
        use_hub(f"http://127.0.0.1:{port}", tmp_path, monkeypatch)
        before = time.monotonic()
        for call in calls:
            with pytest.raises(EaseError, match=rf"the hub at \S+ cannot be reached \(.*{cause}"):
                call()
        assert time.monotonic() - before < 5
