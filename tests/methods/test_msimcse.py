"""mSimCSE: batches with rows of every kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch import Tensor, nn

from ease.encoders.encoder import load_encoder
from ease.errors import EaseError
from ease.methods import get_method, method_options
from ease.methods.base import TOTAL
from ease.training.batches import make_batch
from ease.training.job import run_job
from ease.training.model import TrainingModel
from ease.training.prepared_pairs import open_pairs, prepare_pairs
from tests.methods.made import build, floats, inputs
from tests.methods.test_supervised_simcse import loss_by_hand
from tests.training.tiny_training import MakeJob

MIXED = {
    "sentence": ["Berlin is a large city", "Roma", "people like Oslo", "Ankara"],
    "positive": ["people like Berlin", None, "東京は大きな都市で、川がある", None],
    "negative": ["people like Oslo", None, None, "people like Париж"],
}
"""A triplet, a sentence only, a translation pair, and a sentence with only a negative."""


def embed(model: TrainingModel, texts: list[str]) -> Tensor:
    """Embeddings of texts, one after the other."""
    sentences = [torch.tensor(model.encoder.tokenizer(text)["input_ids"]).unsqueeze(0) for text in texts]
    return torch.cat([model.encoder({"input_ids": tokens})["sentence_embedding"] for tokens in sentences])


def loss_of(files: Path, folder: Path, columns: dict[str, Any], name: str = "msimcse") -> tuple[float, float]:
    """Return the loss of a table's batch, and the expected loss of its texts."""
    loaded = load_encoder(str(files / "encoder_without_dropout"))
    method = get_method(name).build(method_options(name, {"temperature": 0.3}), loaded, None)
    model = TrainingModel(loaded, nn.Identity(), method)
    layout = model.layout(16)
    pq.write_table(pa.table(columns), folder / "texts.parquet")
    derived = method.derived_columns(loaded, 0)
    prepare_pairs(folder / "texts.parquet", None, loaded, layout, folder / "texts.bin", derived)
    rows = open_pairs(folder / "texts.bin", layout)
    batch = make_batch(rows, loaded.tokenizer.pad_token_id, 2, method.views, with_entities=False)
    count = len(columns["sentence"])
    positives = columns.get("positive", [None] * count)
    negatives = columns.get("negative", [None] * count)
    texts = [
        columns["sentence"],
        [other or own for own, other in zip(columns["sentence"], positives, strict=True)],
        [other or "left out" for other in negatives],
    ]
    embeddings = torch.stack([embed(model, column) for column in texts]).double()
    present = [other is not None for other in negatives]
    return model(batch)[TOTAL].item(), loss_by_hand(embeddings, 0.3, present)


@pytest.mark.parametrize("lacking", [[], ["negative"], ["positive"], ["positive", "negative"]])
def test_missing_positives_are_the_sentence_and_missing_negatives_are_left_out(
    files: Path, tmp_path: Path, lacking: list[str]
) -> None:
    columns = {name: texts for name, texts in MIXED.items() if name not in lacking}
    found, expected = loss_of(files, tmp_path, columns)
    assert found == pytest.approx(expected, rel=1e-5)


def test_dropout_makes_the_two_encodings_of_a_sentence_differ(files: Path, tmp_path: Path) -> None:
    loaded = load_encoder(str(files / "encoder"))
    method = get_method("msimcse").build(method_options("msimcse", {}), loaded, None)
    model = TrainingModel(loaded, nn.Identity(), method).train()
    layout = model.layout(16)
    pq.write_table(pa.table({"sentence": MIXED["sentence"]}), tmp_path / "texts.parquet")
    derived = method.derived_columns(loaded, 0)
    prepare_pairs(tmp_path / "texts.parquet", None, loaded, layout, tmp_path / "texts.bin", derived)
    rows = open_pairs(tmp_path / "texts.bin", layout)
    assert (rows["sentence"] == rows["positive"]).all()
    found = model.encode(make_batch(rows, 0, 1, method.views, with_entities=False))
    similarity = torch.cosine_similarity(found.sentences[0], found.sentences[1])
    assert ((similarity > 0.5) & (similarity < 0.9999)).all()
    assert found.present.tolist() == [[True] * 4, [True] * 4, [False] * 4]


def test_a_full_batch_is_that_of_supervised_simcse() -> None:
    texts = floats(2, 3, 4, 6)
    supervised, multilingual = build("supervised_simcse"), build("msimcse")
    assert supervised(inputs(texts))[TOTAL] == multilingual(inputs(texts))[TOTAL]


@pytest.mark.parametrize("strategy", ["english_nli", "parallel"])
def test_a_strategy_of_pairs_refuses_rows_without_a_positive(
    make_job: MakeJob, tmp_path: Path, strategy: str
) -> None:
    pq.write_table(pa.table(MIXED), tmp_path / "texts.parquet")
    job = make_job(pairs=tmp_path / "texts.parquet", method="msimcse", method_options={"strategy": strategy})
    with pytest.raises(
        EaseError, match="2 texts of column 'positive', which the method requires, are missing"
    ):
        run_job(job)
