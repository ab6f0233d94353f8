"""Gradients of one batch in double precision, by one process or by several (gloo)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from ease.encoders.encoder import load_encoder
from ease.encoders.poolings import training_head
from ease.methods import get_method, method_options
from ease.methods.base import TOTAL, Derive
from ease.methods.components.distributed import process_count, process_rank
from ease.training.accelerator import accelerated
from ease.training.batches import Batch, make_batch
from ease.training.execution import Execution
from ease.training.model import TrainingModel
from ease.training.packing import prepare_packing
from ease.training.prepared_pairs import open_pairs, prepare_pairs, read_table
from tests.training.processes import finish, start_ranks


class Case(NamedTuple):
    """A method's loss on the first pairs of a tiny training."""

    files: Path
    method: str
    options: Mapping[str, Any]
    pairs: int
    mini_batch_size: int | None = None
    encoder: str = "encoder"
    """`encoder`, or `encoder_without_dropout`"""
    chunks: int = 1
    """Chunks in which a process encodes its share of the batch"""
    packed: bool = False


def gradients(case: Case, folder: Path) -> dict[str, Tensor]:
    """Return the loss and all gradients, in this process or as one of several."""
    with accelerated(Execution(threads=1)) as accelerator:
        model = build_model(case)
        trained = accelerator.prepare(model)
        batch = build_batch(case, model, folder)
        torch.manual_seed(0)
        loss = trained(batch)[TOTAL]
        accelerator.backward(loss)
        found = {name: value.grad for name, value in model.named_parameters() if value.grad is not None}
        if model.method.table is not None:
            model.method.table.reduce_gradient()
            table = model.method.table.weight.grad
            assert table is not None
            found["method.table.weight"] = table.to_dense()
        # The next random number is the same only if gradient caching restores the generator's state.
        return {**found, "loss": loss.detach(), "next": torch.rand(1)}


def build_batch(case: Case, model: TrainingModel, folder: Path) -> Batch:
    """Make this process's share of the first pairs, two in three of them with a hard negative."""

    def shift(sentences: Sequence[str], rows: Any) -> list[str | None]:
        return [sentences[row - 7] if row % 3 else None for row in range(len(sentences))]

    derived: dict[str, Derive] = {
        "positive": lambda sentences, rows: sentences[::-1],
        **model.method.derived_columns(model.encoder, 0),
        "negative": shift,
    }
    vocabulary = case.files / "vocabulary.parquet" if model.method.table is not None else None
    return batch_of(
        model,
        case.files / "pairs.parquet",
        folder / f"pairs-{process_rank()}.bin",
        rows=np.arange(case.pairs)[process_rank() :: process_count()],
        vocabulary=vocabulary,
        derived=derived,
        chunks=case.chunks,
        packed=case.packed,
    )


def batch_of(
    model: TrainingModel,
    pairs: Path,
    prepared: Path,
    *,
    rows: Any = slice(None),
    vocabulary: Path | None = None,
    derived: Mapping[str, Derive] | None = None,
    max_tokens: int = 16,
    chunks: int = 1,
    packed: bool = False,
) -> Batch:
    """Prepare pairs for a model, and make a batch of some rows; columns are derived as its method does by default."""
    method, layout = model.method, model.layout(max_tokens)
    derived = method.derived_columns(model.encoder, 0) if derived is None else derived
    prepare_pairs(pairs, vocabulary, model.encoder, layout, prepared, derived)
    return make_batch(
        np.array(open_pairs(prepared, layout)[rows]),
        model.encoder.tokenizer.pad_token_id,
        chunks,
        model.reads.views,
        model.reads.token_columns,
        with_entities=vocabulary is not None,
        packed=packed,
    )


def build_model(case: Case) -> TrainingModel:
    """Make the same model in every process, in double precision and training mode."""
    torch.manual_seed(0)
    encoder = load_encoder(str(case.files / case.encoder), "cls_mlp_train", 0)
    method = get_method(case.method)
    table = read_table(case.files / "table.safetensors")
    built = method.build(method_options(case.method, dict(case.options)), encoder, table)
    head = training_head(encoder, "cls_mlp_train", 0)
    first_position = prepare_packing(encoder) if case.packed else None
    execution = Execution(first_position=first_position, mini_batch_size=case.mini_batch_size)
    model = TrainingModel(encoder, head, built, execution=execution)
    return model.double().train()


def joint_gradients(case: Case, folder: Path, processes: int) -> list[dict[str, Tensor]]:
    """Return the gradients of each of several processes, which share the pairs."""
    ranks = start_ranks(processes, _save_gradients, case, folder)
    assert finish(ranks) == [0] * processes
    return [load_file(folder / f"gradients-{rank}.safetensors") for rank in range(processes)]


def _save_gradients(rank: int, case: Case, folder: Path) -> None:
    found = {name: value.contiguous() for name, value in gradients(case, folder).items()}
    save_file(found, folder / f"gradients-{rank}.safetensors")
    torch.distributed.destroy_process_group()
