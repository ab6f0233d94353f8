"""Baseline of `training_speed`: the trainer of sentence-transformers with the same losses."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import AdamW, SparseAdam
from transformers import PrinterCallback, TrainerCallback

from benchmarks.training_data import MAX_TOKENS
from ease.encoders.encoder import load_encoder

SCALE = 20.0
"""Inverse temperature, as sentence-transformers names it."""
RATE = 3e-5


class EntityLoss(nn.Module):
    """Loss of EASE's equation 4 on two columns of sentences; a label is an entity and its hard negative."""

    def __init__(self, encoder: SentenceTransformer, table: Tensor) -> None:
        """Initialise from entity embeddings of shape (entities, dimension)."""
        super().__init__()
        self.encoder = encoder
        self.views = MultipleNegativesRankingLoss(encoder, scale=SCALE)
        self.table = nn.Embedding.from_pretrained(table, freeze=False, sparse=True)
        self.projection = nn.Linear(table.shape[1], encoder.get_embedding_dimension() or 0, bias=False)

    def forward(self, columns: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        """Return the sum of equations 2 and 3; labels have shape (n, 2)."""
        embeddings = [self.encoder(column)["sentence_embedding"] for column in columns]
        entities = functional.normalize(
            self.projection(self.table(labels.T.flatten())), dim=1
        )  # (2n, dimension)
        logits = SCALE * functional.normalize(embeddings[0], dim=1) @ entities.T
        entity_loss = functional.cross_entropy(logits, torch.arange(len(logits), device=logits.device))
        return entity_loss + self.views.compute_loss_from_embeddings(embeddings, labels)


class _StepCallback(TrainerCallback):
    """Calls a function after each step."""

    def __init__(self, mark: Callable[[int], None]) -> None:
        self._mark = mark

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        self._mark(state.global_step)


def train_peer(
    folder: Path,
    method: str,
    batch_size: int,
    steps: int,
    device: str,
    half: bool,
    entities: int,
    mark: Callable[[int], None],
) -> None:
    """Train with sentence-transformers and call `mark` with the number of each finished step.

    `entities` is the size of the table, over which the entities of the pairs are spread.
    """
    encoder = load_encoder(str(folder / "encoder")).to(device)
    encoder.max_seq_length = MAX_TOKENS
    pairs = pq.read_table(folder / "pairs.parquet")
    columns: dict[str, Any] = dict.fromkeys(("anchor", "positive"), pairs["sentence"].to_pylist())
    loss: nn.Module = MultipleNegativesRankingLoss(encoder, scale=SCALE)
    optimizers: dict[str, Any] = {}
    if method == "ease":
        ids = [pairs[name].to_numpy() for name in ("entity", "hard_negative")]
        spread = entities // (max(map(np.max, ids)) + 1)
        columns["label"] = (np.stack(ids, axis=1) * spread).tolist()
        table = torch.randn(entities, encoder.get_embedding_dimension() or 0, device=device)
        loss = EntityLoss(encoder, table).to(device)
        optimizers["optimizers"] = (sparse_and_dense(loss), None)
    with tempfile.TemporaryDirectory() as work:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=work,
            max_steps=steps,
            per_device_train_batch_size=batch_size,
            learning_rate=RATE,
            bf16=half,
            use_cpu=device == "cpu",
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
        )
        trainer = SentenceTransformerTrainer(
            model=encoder,
            args=arguments,
            train_dataset=Dataset.from_dict(columns),
            loss=loss,
            callbacks=[_StepCallback(mark)],
            **optimizers,
        )
        trainer.remove_callback(PrinterCallback)  # it prints between the rows of the table
        trainer.train()


def sparse_and_dense(loss: EntityLoss) -> AdamW:
    """Return AdamW for all parameters but the entity table, which `SparseAdam` updates after each of its steps."""
    sparse = SparseAdam([loss.table.weight], lr=RATE)
    dense = AdamW(
        [weights for weights in loss.parameters() if weights is not loss.table.weight], lr=RATE, fused=True
    )

    def step_table(*_: Any) -> None:
        sparse.step()
        sparse.zero_grad()

    dense.register_step_post_hook(step_table)
    return dense
