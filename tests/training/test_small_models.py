"""Small encoders made by other libraries, as docs/small_models.md shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer

from ease.encoders.encoder import load_encoder, save_encoder
from tests.encoders.tiny import tiny_encoder
from tests.project import ROOT

STATIC, SHALLOW = re.findall(r"```python\n(.*?)```", (ROOT / "docs/small_models.md").read_text("utf-8"), re.DOTALL)
SENTENCES = ["The capital of Japan is Tokyo.", "東京は日本の首都です。", "Berlin ist eine Stadt."]
TRAINER = SentenceTransformerTrainer  # marks the tests as training runs


@pytest.fixture
def teacher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SentenceTransformer:
    """An encoder of eight layers, saved as `encoder` in the current folder, with the file of its sentences."""
    monkeypatch.chdir(tmp_path)
    encoder = tiny_encoder(SENTENCES * 20, layers=8)
    save_encoder(encoder, Path("encoder"))
    Path("sentences.txt").write_text("\n".join(SENTENCES), encoding="utf-8")
    return encoder


def test_model2vec_makes_vectors_of_tokens(teacher: SentenceTransformer) -> None:
    pytest.importorskip("skeletoken", reason="distilling by model2vec needs its extra `distill`")
    exec(STATIC, {})
    small: Any = load_encoder("static")
    assert small.encode(SENTENCES).shape == (3, 16)
    assert len(small[0].embedding.weight) <= len(teacher.tokenizer)


def test_sentence_transformers_trains_the_first_layers(teacher: SentenceTransformer) -> None:
    names: dict[str, Any] = {}
    exec(SHALLOW, names)
    small: Any = load_encoder("shallow")
    assert small[0].model.config.num_hidden_layers == len(small[0].model.encoder.layer) == 6
    assert small.encode(SENTENCES).shape == (3, 16)
