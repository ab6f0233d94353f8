"""Compiled layers: the same losses, exact resume, and clear errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from sentence_transformers import SentenceTransformer
from torch import nn
from torch._dynamo.utils import counters
from torch._inductor.utils import fresh_cache

from ease.errors import EaseError
from ease.methods.base import SENTENCE
from ease.training import loop
from ease.training.accelerator import compile_layers
from ease.training.batches import Batch
from ease.training.job import run_job
from ease.training.options import training_options
from tests.training.tiny_training import MakeJob, Stop, assert_same, losses, stop_at, weights

STILL: dict[str, Any] = {"encoder": "encoder_without_dropout", "development": {}}


@pytest.fixture(autouse=True)
def _nothing_compiled_yet() -> None:
    torch.compiler.reset()


def test_losses_are_those_without_compilation(make_job: MakeJob) -> None:
    changes = {"mini_batch_size": 4}
    plain = run_job(make_job("plain", training=changes, **STILL))
    counters.clear()
    compiled = run_job(make_job("compiled", training={"compiled": True, **changes}, **STILL))
    assert counters["stats"]["unique_graphs"] == 1, "both layers and all widths share the graph"
    assert list(losses(compiled).values()) == pytest.approx(list(losses(plain).values()), rel=1e-5)
    assert weights(compiled).keys() == weights(plain).keys()


def test_an_interrupted_training_resumes_exactly(make_job: MakeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    """With dropout, evaluations without compiled layers, and compilation for the first batch of the whole training."""
    seen: list[torch.Tensor] = []
    original = loop.add_gradients

    def add_gradients(model: nn.Module, batches: Sequence[Batch], accelerator: Accelerator) -> Any:
        seen.append(batches[0].columns[SENTENCE].chunks[0].tokens)
        return original(model, batches, accelerator)

    monkeypatch.setattr("ease.training.loop.add_gradients", add_gradients)
    expected = run_job(make_job("whole", training={"compiled": True}))
    assert torch.equal(seen[0], seen[1]), "once to compile, and once to train"
    broken = make_job("broken", training={"compiled": True})
    with pytest.raises(Stop):
        run_job(broken, stop_at(6))
    before = len(seen)
    assert_same(run_job(broken), expected)
    assert torch.equal(seen[before], seen[0])
    assert not torch.equal(seen[before], seen[before + 1])


def test_a_missing_compiler_is_reported(make_job: MakeJob) -> None:
    with (
        fresh_cache(),
        torch._inductor.config.patch({"cpp.cxx": ("no-such-compiler",)}),
        pytest.raises(EaseError, match="set `compiled: false`"),
    ):
        run_job(make_job("broken", training={"compiled": True}, **STILL))


def test_a_model_without_layers_is_refused() -> None:
    with pytest.raises(
        EaseError, match="Identity has no transformer layers to compile: set `compiled: false`"
    ):
        compile_layers(SentenceTransformer(modules=[nn.Identity()], device="cpu"), deterministic=True)


def test_packed_texts_are_compiled_on_a_gpu_alone(make_job: MakeJob) -> None:
    with pytest.raises(EaseError, match="On a CPU, `compiled` is for padded texts: set `packed: false`"):
        run_job(make_job(training={"compiled": True, "packed": True, "device": "cpu"}))


def test_adapters_are_not_compiled() -> None:
    with pytest.raises(EaseError, match="`compiled` trains all weights: set `lora.rank: 0`"):
        training_options({"compiled": True, "lora": {"rank": 4}})
