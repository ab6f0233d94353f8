"""Matryoshka: the loss is the mean over truncated embeddings, for every contrastive method."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ease.errors import EaseError
from ease.methods import get_method, method_names
from ease.methods.base import TOTAL, Entities, Inputs
from ease.training.batches import make_batch
from ease.training.job import run_job
from ease.training.prepared_pairs import open_pairs, prepare_pairs
from tests.training.gradients import Case, build_model, reverse, shift
from tests.training.tiny_training import MakeJob

STILL = {"mirror_bert": {"dropout": None}}
"""Options that leave the encoder without dropout."""
CONTRASTIVE = [name for name in method_names() if get_method(name).matryoshka]


@pytest.mark.parametrize("name", CONTRASTIVE)
def test_the_loss_is_the_mean_over_the_dimensions(files: Path, tmp_path: Path, name: str) -> None:
    model = build_model(Case(files, name, STILL.get(name, {}), 16, encoder="encoder_without_dropout"))
    layout = model.layout(16)
    vocabulary = files / "vocabulary.parquet" if model.method.table is not None else None
    derived = {"positive": reverse, **model.method.derived_columns(model.encoder, 0), "negative": shift}
    prepare_pairs(files / "pairs.parquet", vocabulary, model.encoder, layout, tmp_path / "pairs", derived)
    rows = open_pairs(tmp_path / "pairs", layout)[:16]
    batch = make_batch(rows, 0, 1, model.method.views, with_entities=vocabulary is not None)
    encoded = model.encode(batch)
    alone = []
    for count in (8, 20, 32):
        cut = encoded.sentences[..., :count]
        alone.append(model.method(encoded._replace(sentences=cut))[TOTAL])
    model.dimensions = (32, 8, 20)
    torch.testing.assert_close(model(batch)[TOTAL], torch.stack(alone).mean())
    assert len({loss.item() for loss in alone}) == 3


def test_the_entity_side_of_a_truncated_loss_is_truncated(files: Path) -> None:
    model = build_model(Case(files, "ease", {}, 4))
    sentences = torch.randn(2, 4, 32, dtype=torch.float64)
    entities = Entities(torch.tensor([0, 1, 2, 3]), torch.tensor([4, -1, 5, 6]))
    given = Inputs(sentences[..., :8], torch.ones(2, 4, dtype=torch.bool), entities)
    projection = model.method.projection
    assert isinstance(projection, torch.nn.Linear)
    found = model.method(given)["entity_loss"]
    projection.weight.data[8:] = 100.0  # rows that only the other dimensions read
    torch.testing.assert_close(model.method(given)["entity_loss"], found)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"training": {"matryoshka": [32]}}, "`matryoshka` 32: give numbers from 1 to 31"),
        ({"training": {"matryoshka": [8]}, "method": "mlm"}, "'mlm' has no contrastive loss"),
    ],
)
def test_faults_are_named(make_job: MakeJob, changes: dict[str, object], message: str) -> None:
    with pytest.raises(EaseError, match=message):
        run_job(make_job(**changes))
