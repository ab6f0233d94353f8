"""Packed texts have the embeddings and gradients of padded texts; replayed passes have the same numbers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ease.encoders.encoder import load_encoder
from ease.errors import EaseError
from ease.training import execution, job, model, packing
from ease.training.execution import Execution, choose_execution
from ease.training.job import run_job
from ease.training.options import TrainingOptions
from ease.training.packing import ROW_TOKENS, TransformerGraphs, pack, prepare_packing
from tests.training.gradients import Case, gradients
from tests.training.test_encoders import trained_embeddings
from tests.training.test_equal_losses import assert_equal
from tests.training.tiny_training import MakeJob, losses, same, sentences, weights

STILL = "encoder_without_dropout"
GRAPHS: dict[str, Any] = {"length_chunks": None, "onednn": False, "max_steps": 4, "evaluate_every": 2}


@pytest.mark.parametrize("pooling", ["mean", "cls", "cls_mlp", "first_last_mean"])
def test_packed_embeddings_equal_padded_ones_for_every_pooling(files: Path, tmp_path: Path, pooling: str) -> None:
    encoder = load_encoder(str(files / "encoder"), pooling).eval()
    expected = np.concatenate([encoder.encode([text]) for text in sentences()])
    _, found = trained_embeddings(encoder, files, tmp_path, packed=True)
    assert np.allclose(found, expected, atol=1e-5)
    again = np.concatenate([encoder.encode([text]) for text in sentences()])
    assert np.array_equal(again, expected), "an encoder that packs encodes as before"


def test_rows_hold_texts_with_little_padding() -> None:
    """That they hold the texts, the embeddings and gradients show."""
    lengths = np.sort(np.random.default_rng(0).integers(3, 33, 200)).astype(np.int32)
    packed = pack(np.ones((200, 32), np.int32), lengths, 2)
    rows, width = packed.tokens.shape
    assert width == ROW_TOKENS
    assert rows * width >= 2 * lengths.sum() > 0.95 * rows * width
    longer = pack(np.ones((2, 65), np.int32), np.array([60, 65], np.int32), 1)
    assert longer.tokens.shape == (1, 2 * ROW_TOKENS)


@pytest.mark.parametrize(
    ("method", "mini_batch_size"), [("simcse", None), ("mirror_bert", None), ("dueam", None), ("ease", 4)]
)
def test_gradients_are_those_of_padded_texts(
    files: Path, tmp_path: Path, method: str, mini_batch_size: int | None
) -> None:
    options = {"dropout": None} if method == "mirror_bert" else {}
    padded = Case(files, method, options, 13, encoder=STILL)
    packed = padded._replace(packed=True, chunks=2, mini_batch_size=mini_batch_size)
    assert_equal(gradients(packed, tmp_path), gradients(padded, tmp_path))


def test_encoders_that_do_not_support_packing_are_refused(files: Path, make_job: MakeJob) -> None:
    eager = load_encoder(str(files / "encoder"))
    transformer: Any = eager[0]
    transformer.model.set_attn_implementation("eager")
    with pytest.raises(EaseError, match="scaled_dot_product_attention.*set `packed: false`"):
        prepare_packing(eager)
    job = make_job(
        method="mirror_bert", method_options={"drophead": 0.1}, vocabulary=None, table=None, training={"packed": True}
    )
    with pytest.raises(EaseError, match="DropHead"):
        run_job(job)


class Recording(TorchDispatchMode):
    """Keeps each operation with its arguments and results."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.operations.append((func, args, kwargs or {}, result))
        return result

    def replay(self) -> None:
        for func, args, kwargs, result in self.operations:
            again = func(*args, **kwargs)
            for old, new in zip(tree_leaves(result), tree_leaves(again), strict=True):
                if isinstance(old, Tensor) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)


def record(function: Callable[[], None]) -> Callable[[], None]:
    with Recording() as recording:
        function()

    def replay() -> None:
        with torch.no_grad():
            recording.replay()

    return replay


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> list[TransformerGraphs]:
    """Make training runs on the CPU replay, with narrow rows of many numbers; the transformers of the runs."""
    monkeypatch.setattr(packing, "ROW_TOKENS", 16)
    monkeypatch.setattr(packing, "ROW_STEPS", 64)
    made: list[TransformerGraphs] = []

    def record_sharing_memory(function: Callable[[], None]) -> Callable[[], None]:
        """The memory of one graph's results may be that of another's intermediate values."""
        replay = record(function)

        def replay_and_overwrite() -> None:
            if function.__name__ == "forward":
                for captured in made[-1]._captured.values():
                    for gradient in captured.computed.values():
                        gradient.fill_(torch.nan)
            replay()

        return replay_and_overwrite

    choices: list[TrainingOptions] = []

    def choose_rows(options: TrainingOptions, encoder: Any, *counts: int) -> Execution:
        choices.append(options)
        packed = options.model_copy(update={"packed": True, "graphs": False})
        return replace(choose_execution(packed, encoder, *counts), graphs=True, token_tables=False)

    def graphs_of(transformer: Any) -> TransformerGraphs:
        graphs = TransformerGraphs(transformer, record_sharing_memory)
        if choices[-1].graphs is True:
            made.append(graphs)
        else:
            graphs._refused = True
        return graphs

    monkeypatch.setattr(job, "choose_execution", choose_rows)
    monkeypatch.setattr(model, "TransformerGraphs", graphs_of)
    return made


@pytest.mark.parametrize(
    ("method", "training", "most"),
    [
        pytest.param("ease", {"batch_size": 64, "sub_batch_size": 16}, 64, id="accumulated"),
        pytest.param("ease", {"batch_size": 64, "sub_batch_size": 16}, 1, id="shapes-beyond-the-most"),
        pytest.param("ease_plus", {}, 64, id="ease_plus"),
        pytest.param("ease", {"precision": "bf16"}, 64, id="bf16"),
    ],
)
def test_a_replayed_training_has_the_same_bits(
    make_job: MakeJob,
    replayed: list[TransformerGraphs],
    monkeypatch: Any,
    method: str,
    training: dict[str, Any],
    most: int,
) -> None:
    monkeypatch.setattr(packing, "MAX_SHAPES", most)
    # A CPU draws other dropout masks in half precision when it records.
    encoder = "encoder_without_dropout" if "precision" in training else "encoder"
    plain, again = (
        run_job(make_job(name, encoder, method=method, training={**GRAPHS, **training, "graphs": name == "again"}))
        for name in ("plain", "again")
    )
    captured = len(replayed[0]._captured)
    assert captured == 1 if most == 1 else captured > 1, "the batches have one shape"
    assert losses(again) == losses(plain)
    assert same(weights(again), weights(plain))


def test_a_transformer_that_refuses_is_trained_without_graphs(
    make_job: MakeJob, replayed: list[TransformerGraphs], caplog: pytest.LogCaptureFixture, monkeypatch: Any
) -> None:
    def refuse(function: Callable[[], None]) -> Callable[[], None]:
        raise RuntimeError("CUDA error: operation not permitted when stream is capturing\nmore")

    plain = run_job(make_job("plain", training={**GRAPHS, "graphs": False}))
    monkeypatch.setitem(globals(), "record", refuse)
    with caplog.at_level(logging.WARNING):
        refused = run_job(make_job("refused", training={**GRAPHS, "graphs": True}))
    assert same(weights(refused), weights(plain))
    (line,) = [line for line in caplog.messages if "without CUDA graphs" in line]
    assert line.endswith("which this encoder refuses: CUDA error: operation not permitted when stream is capturing")


@pytest.mark.parametrize(
    ("options", "columns", "reason"),
    [
        ({"mini_batch_size": 4}, 1, "`mini_batch_size`"),
        ({"length_chunks": 2}, 1, "`length_chunks`"),
        ({"packed": False}, 1, "`packed: false`"),
        ({}, 2, "2 columns"),
        ({"device": "cpu"}, 1, "there is no GPU"),
    ],
)
def test_what_does_not_allow_graphs_is_named(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    options: dict[str, Any],
    columns: int,
    reason: str,
) -> None:
    monkeypatch.setattr(execution, "uses_gpu", lambda options: options.device == "auto")
    options = {"device": "auto", "precision": "fp32", **options}
    encoder: Any = None
    with pytest.raises(EaseError, match=f"`graphs: true` is not possible here \\(.*{reason}"):
        choose_execution(TrainingOptions.model_validate({**options, "graphs": True}), encoder, columns)
    with caplog.at_level(logging.INFO):
        assert not choose_execution(TrainingOptions.model_validate(options), encoder, columns).graphs
    (line,) = caplog.messages
    assert (reason in line.partition("no CUDA graphs (")[2]) == (options["device"] != "cpu")
