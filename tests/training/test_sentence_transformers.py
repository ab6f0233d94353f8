"""The losses in the trainer of sentence-transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from datasets import Dataset
from safetensors.numpy import load_file
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from torch import nn

from ease.encoders.encoder import load_encoder
from ease.errors import EaseError
from ease.methods import get_method, method_options
from ease.methods.base import TOTAL
from ease.training.model import TrainingModel
from ease.training.sentence_transformers import (
    EntityCollator,
    EntityContrastiveLoss,
    LossCheckpoints,
    SupervisedSimCSELoss,
)
from tests.training.gradients import batch_of
from tests.training.tiny_training import sentences

OPTIONS = {"entity_weight": 0.7, "temperature": 0.3, "hard_negative_weight": 1.0, "projection": "tanh"}


def pairs(files: Path) -> list[dict[str, Any]]:
    table = pq.read_table(files / "pairs.parquet", columns=["sentence", "entity", "hard_negative"])
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def entity_loss(files: Path, model: SentenceTransformer, **options: Any) -> EntityContrastiveLoss:
    torch.manual_seed(3)
    vocabulary = pq.read_table(files / "vocabulary.parquet").sort_by("row")
    embeddings = load_file(files / "table.safetensors")["embeddings"]
    return EntityContrastiveLoss(model, embeddings, vocabulary["entity"].to_pylist(), **(OPTIONS | options))


def collate(model: SentenceTransformer, rows: list[dict[str, Any]]) -> tuple[dict[str, Any], Any]:
    """Return the sentences' features and the labels, as the trainer passes them to a loss."""
    batch = EntityCollator(model.preprocess)(rows)
    labels = batch.pop("label")
    return {name.removeprefix("sentence_"): value for name, value in batch.items()}, labels


def test_the_entity_loss_is_that_of_the_training_loop(files: Path, tmp_path: Path) -> None:
    model = load_encoder(str(files / "encoder")).train()  # with dropout
    loss = entity_loss(files, model)
    given = pairs(files)[:24]
    given.sort(key=lambda pair: len(model.tokenizer(pair["sentence"])["input_ids"]))  # as the loop does
    features, labels = collate(model, given)
    torch.manual_seed(5)
    found = loss([features], labels)
    found.backward()

    own = load_encoder(str(files / "encoder"))
    embeddings = torch.as_tensor(load_file(files / "table.safetensors")["embeddings"])
    torch.manual_seed(3)
    method = get_method("ease").build(method_options("ease", OPTIONS), own, embeddings)
    trained = TrainingModel(own, nn.Identity(), method).train()
    read: dict[str, Any] = {"vocabulary": files / "vocabulary.parquet", "max_tokens": 32, "rows": slice(24)}
    batch = batch_of(trained, files / "pairs.parquet", tmp_path / "pairs.bin", **read)
    torch.manual_seed(5)
    expected = trained(batch)[TOTAL]
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)
    own_gradients = [value.grad for name, value in loss.named_parameters() if name[:6] != "model."]
    assert len(own_gradients) == 3, "the table, and the projection's weight and bias"
    assert all(gradient is not None and gradient.any() for gradient in own_gradients)


def test_wrong_arguments_are_named(files: Path) -> None:
    model = load_encoder(str(files / "encoder"))
    with pytest.raises(EaseError, match=r"`embeddings` have the shape \(5,\): give \(entities, dimension\)"):
        EntityContrastiveLoss(model, np.zeros(5))
    features, labels = collate(model, [{"sentence": "a", "entity": 999}])
    with pytest.raises(EaseError, match="Entity 999 of the dataset"):
        entity_loss(files, model)([features], labels)


def train(files: Path, folder: Path, resume: bool = False, **arguments: Any) -> dict[str, np.ndarray]:
    """Train by the library's trainer, and return all parameters, the loss's included."""
    torch.manual_seed(0)
    model = load_encoder(str(files / "encoder"))
    loss = entity_loss(files, model)
    settings: dict[str, Any] = {
        "max_steps": 4,
        "per_device_train_batch_size": 6,
        "learning_rate": 1e-2,
        "save_steps": 2,
        "report_to": "none",
        "use_cpu": True,
        "disable_tqdm": True,
        "seed": 7,
        "batch_sampler": "no_duplicates",
        **arguments,
    }
    trainer = SentenceTransformerTrainer(
        model=model,
        args=SentenceTransformerTrainingArguments(str(folder), **settings),
        train_dataset=Dataset.from_list([row for row in pairs(files) if row["hard_negative"] is not None]),
        loss=loss,
        data_collator=EntityCollator(model.preprocess),
        callbacks=[LossCheckpoints(loss)],
    )
    trainer.train(resume_from_checkpoint=resume)
    return {name: value.detach().numpy().copy() for name, value in loss.state_dict().items()}


def test_a_resumed_training_has_the_parameters_of_an_uninterrupted_one(files: Path, tmp_path: Path) -> None:
    whole = train(files, tmp_path / "whole")
    checkpoint = tmp_path / "whole" / "checkpoint-2"
    first = load_file(checkpoint / "loss.safetensors")["method.table.weight"]
    assert not np.array_equal(first, whole["method.table.weight"])
    # The first half, as a kill leaves it: without the later checkpoint.
    broken = tmp_path / "broken"
    broken.mkdir()
    checkpoint.rename(broken / "checkpoint-2")
    resumed = train(files, broken, resume=True)
    assert resumed.keys() == whole.keys()
    for name, value in whole.items():
        assert np.array_equal(resumed[name], value), name
    (broken / "checkpoint-4" / "loss.safetensors").unlink()
    with pytest.raises(EaseError, match=r"has no .*loss\.safetensors: resume from an earlier one"):
        train(files, broken, resume=True, max_steps=6)


def triplets(model: SentenceTransformer) -> list[dict[str, Any]]:
    texts = sentences()
    return [dict(model.preprocess(texts[start : start + 6])) for start in (0, 10, 20)]


def test_supervised_simcse_is_the_library_s_loss_plus_a_weight_and_missing_negatives(files: Path) -> None:
    model = load_encoder(str(files / "encoder")).eval()
    features = triplets(model)
    theirs = MultipleNegativesRankingLoss(model, scale=5)(triplets(model), None)
    ours = SupervisedSimCSELoss(model, temperature=0.2)(features, None)
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-6)
    weighted = SupervisedSimCSELoss(model, temperature=0.2, hard_negative_weight=1.0)(triplets(model), None)
    assert weighted > ours
    pairs_alone = MultipleNegativesRankingLoss(model, scale=5)(triplets(model)[:2], None)
    absent = SupervisedSimCSELoss(model, temperature=0.2)(triplets(model), torch.zeros(6))
    assert absent.item() == pytest.approx(pairs_alone.item(), rel=1e-6)
