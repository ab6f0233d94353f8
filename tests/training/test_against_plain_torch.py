"""A training run against an implementation in plain torch, which shares only the order of the pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoModel, AutoTokenizer, BertModel

from ease.training.batches import pair_indices
from ease.training.job import run_job
from tests.training.tiny_training import MakeJob

ENCODER = "encoder_without_dropout"
TRAINING: dict[str, Any] = {
    "batch_size": 4,
    "learning_rate": 2e-3,
    "entity_learning_rate": 0.05,
    "weight_decay": 0.1,
    "warmup": 0.25,
    "max_grad_norm": 25.0,  # which half of the steps exceed
    "max_steps": None,
    "epochs": 2,
    "seed": 3,
}
OPTIONS = {"temperature": 0.1, "self_temperature": 0.07, "entity_weight": 0.6}


class Adam:
    """Adam with decoupled weight decay, for a tensor or for some of its rows."""

    def __init__(self, weight: Tensor, decay: float = 0.0) -> None:
        self.weight, self.decay = weight, decay
        self.first, self.second = torch.zeros_like(weight), torch.zeros_like(weight)

    def step(self, number: int, rate: float, gradient: Tensor, rows: list[int] | None = None) -> None:
        used = slice(None) if rows is None else rows
        self.first[used] = 0.9 * self.first[used] + 0.1 * gradient[used]
        self.second[used] = 0.999 * self.second[used] + 0.001 * gradient[used] ** 2
        first, second = self.first[used] / (1 - 0.9**number), self.second[used] / (1 - 0.999**number)
        # torch's SparseAdam adds its epsilon before it corrects the second moment, the others after.
        epsilon = 1e-8 if rows is None else 1e-8 / math.sqrt(1 - 0.999**number)
        with torch.no_grad():
            self.weight[used] -= rate * (self.decay * self.weight[used] + first / (second.sqrt() + epsilon))


class Plain(NamedTuple):
    """All trained parameters in double precision."""

    bert: BertModel
    tokenizer: Any
    table: Tensor
    projection: Tensor

    def embed(self, sentences: Sequence[str]) -> Tensor:
        """Means over the tokens, (n, 32)."""
        found = self.tokenizer(list(sentences), padding=True, truncation=True, max_length=16, return_tensors="pt")
        hidden = self.bert(input_ids=found["input_ids"], attention_mask=found["attention_mask"])[0]
        mask = found["attention_mask"].unsqueeze(-1).double()
        return (hidden * mask).sum(1) / mask.sum(1)

    def losses(self, pairs: Sequence[dict[str, Any]]) -> tuple[Tensor, Tensor]:
        """Equations 2 and 3, one sentence after the other."""
        sentences = unit(self.embed([pair["sentence"] for pair in pairs]))
        entities = unit(self.table @ self.projection.T)
        positives = [row_of(pair["entity"]) for pair in pairs]
        negatives = [row_of(pair["hard_negative"]) for pair in pairs if pair["hard_negative"] is not None]
        entity, own = [], []
        for sentence, positive in zip(sentences, positives, strict=True):
            logits = entities @ sentence / 0.1
            denominator = logits[positives + negatives].exp().sum()
            entity.append(denominator.log() - logits[positive])
            others = sentences @ sentence / 0.07
            own.append(others.exp().sum().log() - sentence @ sentence / 0.07)
        return torch.stack(entity).mean(), torch.stack(own).mean()


def unit(vectors: Tensor) -> Tensor:
    return vectors / (vectors**2).sum(1, keepdim=True).sqrt()


def row_of(entity: int) -> int:
    """The table's row: entities are -7, -4, -1 and so on."""
    return (entity + 7) // 3


def train_plainly(
    plain: Plain, pairs: list[dict[str, Any]], steps: int, contrasted: int, dense: bool = False
) -> list[tuple[float, float, float]]:
    """Train with `TRAINING` and `OPTIONS`; return the total, entity and self-supervised loss of each step.

    Args:
        plain: What is trained.
        pairs: Rows of the training pairs.
        steps: Number of steps.
        contrasted: Pairs that contrast with each other; the losses of a batch's parts are averaged.
        dense: Whether a step moves all rows of the table.
    """
    named = {name: weight for name, weight in plain.bert.named_parameters() if "pooler" not in name}
    others = {**named, "projection": plain.projection}
    adams = {name: Adam(weight, 0.1 if weight.ndim > 1 else 0.0) for name, weight in others.items()}
    table, rise, losses = Adam(plain.table, 0.1 if dense else 0.0), round(0.25 * steps), []
    for number, indices in enumerate(islice(pair_indices(np.empty(len(pairs), "V1"), 4, seed=3), steps), start=1):
        batch = [pairs[index] for index in indices]
        parts = [plain.losses(batch[first : first + contrasted]) for first in range(0, 4, contrasted)]
        entity, own = (torch.stack(found).mean() for found in zip(*parts, strict=True))
        total = 0.6 * entity + own
        losses.append((total.item(), entity.item(), own.item()))
        *gradients, of_table = torch.autograd.grad(total, [*others.values(), plain.table])
        norm = math.sqrt(sum(float((gradient**2).sum()) for gradient in [*gradients, of_table]))
        clipped = min(1.0, 25.0 / norm)
        share = number / (rise + 1) if number <= rise else (steps - number + 1) / (steps - rise)
        for name, gradient in zip(others, gradients, strict=True):
            adams[name].step(number, 2e-3 * share, clipped * gradient)
        table.step(number, 0.05 * share, clipped * of_table, None if dense else rows_of(batch))
    return losses


def rows_of(batch: list[dict[str, Any]]) -> list[int]:
    found = {pair[column] for pair in batch for column in ("entity", "hard_negative")} - {None}
    return [row_of(entity) for entity in sorted(found)]


@pytest.fixture
def pairs(files: Path, tmp_path: Path) -> Path:
    """24 pairs of all 10 entities."""
    table = pq.read_table(files / "pairs.parquet")
    pq.write_table(table.take(list(range(0, 144, 6))), tmp_path / "pairs.parquet")
    return tmp_path / "pairs.parquet"


@pytest.fixture
def start(make_job: MakeJob, files: Path, pairs: Path) -> Plain:
    """The initial parameters, from a training run with learning rate 0."""
    training = {**TRAINING, "max_steps": 1, "learning_rate": 1e-30, "entity_learning_rate": 1e-30}
    begun = run_job(make_job("begun", encoder=ENCODER, pairs=pairs, development={}, training=training))
    parts = load_file(begun.model / "training" / "parts.safetensors")
    return Plain(
        AutoModel.from_pretrained(files / ENCODER).double(),
        AutoTokenizer.from_pretrained(files / ENCODER),
        load_file(files / "table.safetensors")["embeddings"].double().requires_grad_(),
        parts["method.projection.weight"].double().requires_grad_(),
    )


@pytest.mark.parametrize(("sub_batch_size", "entity_optimizer"), [(None, "lazy"), (2, "lazy"), (2, "dense")])
def test_two_epochs_equal_those_in_plain_torch(
    start: Plain, make_job: MakeJob, pairs: Path, sub_batch_size: int | None, entity_optimizer: str
) -> None:
    training = {**TRAINING, "sub_batch_size": sub_batch_size, "entity_optimizer": entity_optimizer}
    job = make_job(encoder=ENCODER, pairs=pairs, development={}, training=training, method_options=OPTIONS)
    result = run_job(job)
    assert result.steps == 12
    expected = train_plainly(
        start, pq.read_table(pairs).to_pylist(), result.steps, sub_batch_size or 4, entity_optimizer == "dense"
    )
    terms = [[line[name] for name in ("loss", "entity_loss", "self_loss")] for line in result.history]
    assert torch.allclose(torch.tensor(terms), torch.tensor(expected), rtol=1e-4)
    parts = load_file(result.model / "training" / "parts.safetensors")
    found = {
        **load_file(result.model / "model.safetensors"),
        "projection": parts["method.projection.weight"],
        "table": parts["method.table.weight"],
    }
    wanted = {**dict(start.bert.named_parameters()), "projection": start.projection, "table": start.table}
    assert found.keys() == wanted.keys()
    for name, weight in wanted.items():
        assert torch.allclose(found[name].double(), weight, atol=2e-5), name
