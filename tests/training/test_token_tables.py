"""Tables of embeddings whose gradients have only the rows that were read: the result of dense steps."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

from ease.encoders.encoder import load_encoder
from ease.methods import get_method, method_options
from ease.training.execution import Execution
from ease.training.job import run_job
from ease.training.model import TrainingModel
from ease.training.optimizers import Optimizers
from ease.training.options import TrainingOptions
from ease.training.token_tables import TokenTable
from tests.training.tiny_training import MakeJob, weights

WORDS = "encoder.0.model.embeddings.word_embeddings"


@pytest.fixture
def small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny encoder's 300 tokens are a large table, its 32 positions are not."""
    monkeypatch.setattr("ease.training.token_tables.SPARSE_ROWS", 100)


def table_model(encoder: SentenceTransformer, **options: Any) -> TrainingModel:
    method = get_method("simcse").build(method_options("simcse", options), encoder, None)
    return TrainingModel(encoder, nn.Identity(), method, execution=Execution(token_tables=True)).train()


@pytest.mark.parametrize("sparse", [False, True])
def test_gradients_of_a_table_are_those_of_torch(sparse: bool) -> None:
    numbers = torch.tensor([[1, 2, 2, 0], [3, 0, 1, 1]])
    plain = nn.Embedding(5, 3, padding_idx=0)
    table = nn.Embedding(5, 3, padding_idx=0)
    table.load_state_dict(plain.state_dict())
    table.__class__ = TokenTable
    table.sparse = sparse
    for module in (plain, table):
        for part in (numbers, numbers[:1]):
            (module(part) ** 2).sum().backward()
    assert table.weight.grad is not None
    assert table.weight.grad.is_sparse == sparse
    torch.testing.assert_close(table.weight.grad.to_dense(), plain.weight.grad)


@pytest.mark.usefixtures("small_tables")
def test_steps_on_the_rows_in_use_give_the_result_of_dense_steps(files: Path) -> None:
    """Rows appear and vanish; gradients are clipped to about AdamW's ε, so that a step depends on their norm."""

    def trained(dense: bool) -> dict[str, Tensor]:
        model = table_model(load_encoder(str(files / "encoder_without_dropout")))
        if dense:
            model.token_tables[WORDS].sparse = False
        assert list(model.token_tables) == ([] if dense else [WORDS])
        optimizers = Optimizers(model, TrainingOptions(learning_rate=0.01, weight_decay=0.1, max_grad_norm=1e-7))
        generator = torch.Generator().manual_seed(0)
        for step in range(60):
            first = 5 + 10 * (step // 20)
            for chunk in torch.randint(first, first + 30, (2, 4, 6), generator=generator):
                states = model.encoder[0]({"input_ids": chunk, "attention_mask": torch.ones_like(chunk)})
                (states["token_embeddings"] ** 3).sum().backward()
            optimizers.set_rates(math.cos(step / 60))
            optimizers.step()
        optimizers.complete_tables()
        return dict(model.named_parameters())

    start = dict(table_model(load_encoder(str(files / "encoder_without_dropout"))).named_parameters())
    expected = trained(dense=True)
    for name, weight in trained(dense=False).items():
        change = (expected[name] - start[name]).detach().norm()
        # A key's bias does not change attention: its gradient is rounding alone.
        if not name.endswith("key.bias"):
            assert float((weight - expected[name]).detach().norm()) <= 3e-6 * float(change), name


@pytest.mark.usefixtures("small_tables")
def test_a_table_that_something_else_reads_has_a_gradient_of_all_rows(files: Path) -> None:
    encoder = load_encoder(str(files / "encoder"))
    transformer: Any = encoder[0].model
    words = transformer.get_input_embeddings()
    assert not table_model(encoder, mlm_weight=0.1).token_tables
    model = table_model(encoder)
    (table,) = model.token_tables.values()
    assert table is words
    words.requires_grad_(False)
    assert not model.token_tables
    words.requires_grad_(True)
    (table(torch.tensor([7])).sum() + table.weight.sum()).backward()
    rows = table.reduce_gradient()
    assert rows.grad is not None
    assert [float(row.sum()) / table.embedding_dim for row in rows.grad[6:9]] == [1, 2, 1]
    assert len(rows) == len(words.weight)
    transformer.output = nn.Linear(*reversed(words.weight.shape))
    transformer.output.weight = words.weight
    assert not table_model(encoder).token_tables


@pytest.mark.usefixtures("small_tables")
def test_a_copy_of_an_encoder_in_training_has_no_optimizer(files: Path) -> None:
    model = table_model(load_encoder(str(files / "encoder_without_dropout")))
    optimizers = Optimizers(model, TrainingOptions())
    features = {"input_ids": torch.tensor([[5, 6]]), "attention_mask": torch.ones(1, 2, dtype=torch.long)}
    model.encoder(dict(features))["sentence_embedding"].sum().backward()
    optimizers.step()
    assert model.token_tables[WORDS].before_reading is not None
    duplicate = copy.deepcopy(model.encoder)
    optimizers.close()
    expected, found = (encoder(dict(features))["sentence_embedding"] for encoder in (model.encoder, duplicate))
    assert torch.equal(found, expected)


@pytest.mark.parametrize(
    ("method", "training"),
    [
        ("simcse", {}),
        ("simcse", {"mini_batch_size": 4}),
        ("simcse", {"sub_batch_size": 8}),
        ("simcse", {"precision": "bf16"}),
        ("dueam", {}),
    ],
)
def test_a_training_ends_with_the_weights_of_dense_steps(
    make_job: MakeJob, files: Path, monkeypatch: pytest.MonkeyPatch, method: str, training: dict[str, Any]
) -> None:
    changes = {"method": method, "pairs": files / "texts.parquet", "vocabulary": None, "table": None, "development": {}}
    trained = []
    for size in (10_000, 100):
        monkeypatch.setattr("ease.training.token_tables.SPARSE_ROWS", size)
        options = {"weight_decay": 1.0, "learning_rate": 0.01, "max_grad_norm": 0.1, **training}
        job = make_job(f"{size}", **changes, training=options)
        trained.append(weights(run_job(job)))
    dense, sparse = trained
    for name, expected in dense.items():
        # A key's bias does not change attention: its gradient is rounding alone.
        if not name.endswith("key.bias"):
            assert sparse[name] == pytest.approx(expected, rel=1e-3, abs=1e-4), name
