"""A guide masks false negatives: against an independent computation, and in trainings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import torch

from ease.encoders.encoder import load_encoder
from ease.errors import EaseError
from ease.methods.components.losses import false_negatives, several_positives_loss
from ease.training.job import run_job
from ease.training.teacher import write_entity_embeddings
from tests.training.tiny_training import MakeJob, losses

PLUS: dict[str, Any] = {"method": "ease_plus", "encoder": "encoder_without_dropout", "development": {}}


def guided(folder: Path | str, **training: Any) -> dict[str, Any]:
    return {"training": {"guide": {"encoder": str(folder)}, **training}}


def test_a_candidate_nearer_than_the_positive_is_a_false_negative() -> None:
    anchors = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    positives = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    candidates = torch.tensor([[3.0, 0.1], [1.0, 1.0], [0.1, 3.0], [0.0, 0.0]])
    assert false_negatives(anchors, positives, candidates).tolist() == [
        [True, False, False, False],
        [False, False, False, False],
    ]


def test_excluded_candidates_are_no_negatives() -> None:
    random = torch.Generator().manual_seed(0)
    anchors, positives, candidates = (
        torch.randn(*shape, generator=random, dtype=torch.float64) for shape in ((3, 4), (3, 1, 4), (5, 4))
    )
    excluded = torch.tensor([[0, 1, 0, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], dtype=torch.bool)
    given: dict[str, Any] = {"positive_ids": torch.tensor([[7], [8], [9]]), "weights": torch.ones(1)}
    expected = []
    for row in range(3):
        unit = torch.nn.functional.normalize
        own = unit(positives[row]) @ unit(anchors[row], dim=0) / 0.1
        others = unit(candidates[~excluded[row]]) @ unit(anchors[row], dim=0) / 0.1
        expected.append(torch.logsumexp(torch.cat([own, others]), dim=0) - own)
    for size in (None, 2):
        found = several_positives_loss(
            anchors,
            positives,
            candidates,
            0.1,
            candidate_ids=torch.arange(5),
            excluded=excluded,
            mini_batch_size=size,
            **given,
        )
        torch.testing.assert_close(found, torch.cat(expected).mean())


def test_an_entity_has_the_mean_embedding_of_its_sentences(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float16)
    rows = np.array([0, 2, 0, 2, 2, 4, 0, 4, 2])
    write_entity_embeddings(vectors, rows, 5, tmp_path / "entities.npy")
    found = np.load(tmp_path / "entities.npy")
    for row in (0, 2, 4):
        mean = vectors[rows == row].astype(float).mean(axis=0)
        np.testing.assert_allclose(found[row], mean / np.linalg.norm(mean), atol=1e-3)
    assert not found[[1, 3]].any()


def test_the_first_loss_masks_what_the_guide_finds_nearer(
    make_job: MakeJob, wide: Path, tmp_path: Path
) -> None:
    table = pq.read_table(make_job().pairs)
    order = np.random.default_rng(1).permutation(len(table))
    mixed = table.set_column(table.column_names.index("entity"), "entity", table["entity"].take(order))
    negatives = pc.if_else(pc.equal(mixed["hard_negative"], mixed["entity"]), None, mixed["hard_negative"])
    mixed = mixed.set_column(mixed.column_names.index("hard_negative"), "hard_negative", negatives)
    pq.write_table(mixed, tmp_path / "mixed.parquet")  # entities unlike their sentences
    options = {
        "method_options": {"positives": 1, "self_supervised": False},
        "pairs": tmp_path / "mixed.parquet",
    }
    plain = run_job(make_job("plain", training={"max_steps": 1}, **options, **PLUS)).history[0]["loss"]
    job = make_job("guided", **guided(wide, max_steps=1), **options, **PLUS)
    found = run_job(job)
    table = pq.read_table(job.pairs)
    texts, entities, negatives = (table[name].to_pylist() for name in ("sentence", "entity", "hard_negative"))
    vectors = load_encoder(str(wide)).encode(texts, normalize_embeddings=True)
    means = {
        entity: vectors[[other == entity for other in entities]].mean(axis=0) for entity in set(entities)
    }
    means = {entity: mean / np.linalg.norm(mean) for entity, mean in means.items()}
    batch = np.random.default_rng([0, 0]).permutation(len(texts))[:16]
    masked = sum(
        means[candidate] @ vectors[row] > means[entities[row]] @ vectors[row] + 1e-3
        for row in batch
        for candidate in [*(entities[one] for one in batch), *(negatives[one] for one in batch)]
        if candidate is not None
    )
    assert masked > 10
    assert found.history[0]["loss"] < plain - 0.05


def test_a_guide_that_finds_no_false_negative_changes_nothing(
    make_job: MakeJob, wide: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(anchors: torch.Tensor, positives: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
        assert anchors.shape == positives.shape == (16, 48)
        assert candidates.shape == (32, 48)
        return torch.zeros(len(anchors), len(candidates), dtype=torch.bool)

    plain = losses(run_job(make_job("plain", **PLUS)))
    monkeypatch.setattr("ease.methods.ease_plus.false_negatives", none)
    assert losses(run_job(make_job("guided", **guided(wide), **PLUS))) == plain


@pytest.mark.parametrize(
    ("encoder", "changes", "message"),
    [
        ("nowhere/guide", PLUS, "The guide cannot be loaded .`guide.encoder`.. Encoder 'nowhere/guide'"),
        ("start", {**PLUS, "method_options": {"entity_weight": 0}}, "with an `entity_weight` above 0"),
        ("start", {"method": "simcse"}, "'simcse' does not read a guide: set `guide.encoder` to null"),
    ],
)
def test_faults_are_named(
    make_job: MakeJob, monkeypatch: pytest.MonkeyPatch, encoder: str, changes: dict[str, Any], message: str
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(EaseError, match=message):
        run_job(make_job(**guided(encoder), **changes))
