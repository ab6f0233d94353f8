"""Trainings whose transformer replays its passes: the same numbers as without, for all shapes of batches.

A CUDA graph starts the kernels that it recorded again, on the same memory. So does the recorder of these tests, with
operations of the CPU.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ease.errors import EaseError
from ease.training import graphs, job, packing
from ease.training.graphs import TransformerGraphs, transformer_graphs
from ease.training.job import run_job
from ease.training.options import TrainingOptions
from tests.training.tiny_training import MakeJob, losses, same, weights


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
    """Make trainings on the CPU replay, with narrow rows of many numbers; the transformers of the trainings."""
    monkeypatch.setattr(packing, "WIDTH", 16)
    monkeypatch.setattr(packing, "SHAPES", 64)
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

    def rows(options: TrainingOptions, columns: int, encoder: Any) -> Any:
        if options.graphs is not True:
            return lambda features: encoder[0](features)
        made.append(TransformerGraphs(encoder[0], record_sharing_memory))
        return made[-1]

    monkeypatch.setattr(job, "transformer_graphs", rows)
    return made


@pytest.mark.parametrize(
    ("method", "training"),
    [
        pytest.param("ease", {"batch_size": 64, "sub_batch_size": 16}, id="accumulated"),
        pytest.param("ease_plus", {}, id="ease_plus"),
    ],
)
def test_a_replayed_training_has_the_same_bits(
    make_job: MakeJob, replayed: list[TransformerGraphs], method: str, training: dict[str, Any]
) -> None:
    given = {"length_chunks": None, "onednn": False, **training}
    plain, again = (
        run_job(make_job(name, method=method, training={**given, "graphs": name == "again"}))
        for name in ("plain", "again")
    )
    assert len(replayed[0]._captured) > 1, "the batches have one shape"
    assert losses(again) == losses(plain)
    assert same(weights(again), weights(plain))


def test_half_precision_differs_by_rounding(make_job: MakeJob, replayed: list[TransformerGraphs]) -> None:
    given = {"length_chunks": None, "precision": "bf16", "max_steps": 4}
    plain, again = (
        run_job(make_job(name, training={**given, "graphs": name == "again"})) for name in ("plain", "again")
    )
    assert replayed
    assert list(losses(again).values()) == pytest.approx(list(losses(plain).values()), rel=1e-3)


def test_shapes_beyond_the_most_are_computed_without_graphs(
    make_job: MakeJob, replayed: list[TransformerGraphs], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphs, "MOST", 1)
    given = {"length_chunks": None, "batch_size": 64, "sub_batch_size": 16, "max_steps": 4}
    plain, again = (
        run_job(make_job(name, training={**given, "graphs": name == "again"})) for name in ("plain", "again")
    )
    assert len(replayed[0]._captured) == 1
    assert same(weights(again), weights(plain))


def test_a_transformer_that_refuses_is_trained_without_graphs(
    make_job: MakeJob, replayed: list[TransformerGraphs], caplog: pytest.LogCaptureFixture, monkeypatch: Any
) -> None:
    def refuse(function: Callable[[], None]) -> Callable[[], None]:
        raise RuntimeError("CUDA error: operation not permitted when stream is capturing\nmore")

    given = {"length_chunks": None, "max_steps": 3}
    plain = run_job(make_job("plain", training={**given, "graphs": False}))
    monkeypatch.setitem(globals(), "record", refuse)
    with caplog.at_level(logging.WARNING):
        refused = run_job(make_job("refused", training={**given, "graphs": True}))
    assert same(weights(refused), weights(plain))
    assert [line for line in caplog.messages if "without CUDA graphs" in line] == [
        "The training goes on without CUDA graphs, which this encoder refuses: CUDA error: operation not permitted "
        "when stream is capturing"
    ]


@pytest.mark.parametrize(
    ("options", "columns", "reason"),
    [
        ({"mini_batch_size": 4}, 1, "`mini_batch_size`"),
        ({"length_chunks": 2}, 1, "`length_chunks`"),
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
    monkeypatch.setattr(graphs, "uses_gpu", lambda options: options.device == "auto")
    encoder: Any = None
    with pytest.raises(EaseError, match=f"`graphs: true` is not possible here \\(.*{reason}"):
        transformer_graphs(TrainingOptions.model_validate({**options, "graphs": True}), columns, encoder)
    with caplog.at_level(logging.INFO):
        assert transformer_graphs(TrainingOptions.model_validate(options), columns, encoder) is None
    assert (reason in caplog.text) == (options != {"device": "cpu"})
