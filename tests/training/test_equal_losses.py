"""Gradient caching, accumulation, oneDNN, compilation and truncation compute the losses of the plain loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch._dynamo.utils import counters
from torch._inductor.utils import fresh_cache

from ease.encoders.onednn import OneDnnLinear
from ease.errors import EaseError
from ease.methods import method_names, method_record
from ease.methods.base import TOTAL
from ease.training.job import run_job
from ease.training.model import TrainingModel
from ease.training.options import TrainingResult
from tests.training.gradients import Case, build_batch, build_model, gradients, joint_gradients
from tests.training.tiny_training import MakeJob, losses, tiny_job, weights

EASE: dict[str, Any] = {"mask_same_entity": True, "hard_negative_weight": 1.0, "projection": "tanh"}
ABLATIONS: list[tuple[str, dict[str, Any]]] = [
    ("ease", EASE),
    ("ease_plus", {"attraction": 0.5, "subject_weight": 0.2}),
    ("simcse", {"mlm_weight": 0.1}),
    ("mirror_bert", {"drophead": 0.1, "positive_in_denominator": False, "span": 0, "controlled_dropout": True}),
]
ROWS = 13
"""Pairs, in 5 parts of 3 or 2."""


def assert_equal(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert value.abs().max() > 0, f"{name} has no gradient to compare"
        assert torch.allclose(found[name], value, rtol=1e-6, atol=1e-9), name


@pytest.mark.parametrize(("method", "options"), [*((name, {}) for name in method_names()), *ABLATIONS])
def test_gradient_caching_keeps_the_gradients(
    files: Path, tmp_path: Path, method: str, options: dict[str, Any]
) -> None:
    """Dropout masks are the same in both forward passes, and in the direct computation with the same chunks."""
    direct = Case(files, method, options, ROWS, chunks=5)
    # Masked-language modelling, of a whole batch else, makes 4 parts on a CPU by itself.
    cached = gradients(direct._replace(mini_batch_size=4), tmp_path)
    assert_equal(cached, gradients(direct, tmp_path))


@pytest.mark.parametrize(("method", "options"), [("ease", EASE), ("supervised_simcse", {"hard_negative_weight": 1.0})])
def test_two_processes_have_the_gradients_of_the_joint_batch(
    files: Path, tmp_path: Path, method: str, options: dict[str, Any]
) -> None:
    """Sentences, entities and hard negatives are gathered with their gradients, in mini-batches."""
    still = "encoder_without_dropout"
    joint = Case(files, method, {**options, "gather_negatives": True}, 14, encoder=still)
    expected = gradients(joint, tmp_path)
    ranks = joint_gradients(joint._replace(mini_batch_size=3, chunks=3), tmp_path, 2)
    for found in ranks:
        assert_equal({**found, "loss": expected["loss"]}, expected)
    assert torch.allclose((ranks[0]["loss"] + ranks[1]["loss"]) / 2, expected["loss"], rtol=1e-9)


STILL: dict[str, Any] = {"encoder": "encoder_without_dropout", "development": {}}
CLIPPED: dict[str, Any] = {"max_grad_norm": 0.5, "sub_batch_size": 8, "max_steps": 4}


@pytest.fixture(scope="module")
def plain(files: Path, tmp_path_factory: pytest.TempPathFactory) -> TrainingResult:
    """The training run without any of the changes."""
    return run_job(tiny_job(files, tmp_path_factory.mktemp("plain") / "job", training=CLIPPED, **STILL))


@pytest.mark.parametrize(
    ("changed", "noise"),
    [({"packed": True, "mini_batch_size": 3}, 1e-5), ({"mini_batch_size": 4, "precision": "bf16"}, 1e-3)],
)
def test_packing_and_gradient_caching_change_rounding_alone(
    make_job: MakeJob, plain: TrainingResult, changed: dict[str, Any], noise: float
) -> None:
    if "precision" in changed:
        plain = run_job(make_job("plain", training={**CLIPPED, "precision": changed["precision"]}, **STILL))
    other = run_job(make_job(training={**CLIPPED, **changed}, **STILL))
    assert list(losses(other).values()) == pytest.approx(list(losses(plain).values()), rel=noise)
    found = weights(other)
    assert all(np.allclose(found[name], value, atol=2 * noise) for name, value in weights(plain).items())


def test_losses_are_those_of_torchs_layers(make_job: MakeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    """With dropout, whose masks are the same, and with LoRA."""
    replaced: list[int] = []
    prepare = TrainingModel.train

    def counted(model: TrainingModel, mode: bool = True) -> TrainingModel:
        replaced.append(sum(isinstance(one, OneDnnLinear) for one in model.encoder.modules()))
        return prepare(model, mode)

    monkeypatch.setattr(TrainingModel, "train", counted)
    changes = {"packed": True, "length_chunks": None, "mini_batch_size": 8, "lora": {"rank": 4}, "max_steps": 2}
    torchs, onednns = (
        run_job(make_job(str(own), training={**changes, "onednn": own}, development={})) for own in (False, True)
    )
    assert replaced[0] == 0
    assert replaced[-1] >= 2 * 6, "six linear layers in each of two blocks"
    assert losses(onednns) == pytest.approx(losses(torchs), rel=1e-4)
    assert weights(onednns).keys() == weights(torchs).keys()
    configurations = [(result.model / "config.json").read_text() for result in (torchs, onednns)]
    assert configurations[0] == configurations[1]


@pytest.fixture(autouse=True)
def _nothing_compiled_yet() -> None:
    torch.compiler.reset()


def test_losses_are_those_without_compilation(make_job: MakeJob, plain: TrainingResult) -> None:
    counters.clear()
    with torch._inductor.config.patch(compile_threads=1):  # more of them import torch anew
        compiled = run_job(make_job(training={**CLIPPED, "compiled": True}, **STILL))
    assert counters["stats"]["unique_graphs"] == 1, "both layers and all widths share the graph"
    assert list(losses(compiled).values()) == pytest.approx(list(losses(plain).values()), rel=1e-5)
    assert weights(compiled).keys() == weights(plain).keys()


def test_a_missing_compiler_is_reported(make_job: MakeJob) -> None:
    with (
        fresh_cache(),
        torch._inductor.config.patch({"cpp.cxx": ("no-such-compiler",), "compile_threads": 1}),
        pytest.raises(EaseError, match="set `compiled: false`"),
    ):
        run_job(make_job(training={"compiled": True}, **STILL))


@pytest.mark.parametrize("name", [name for name in method_names() if method_record(name).matryoshka])
def test_the_loss_is_the_mean_over_the_dimensions(files: Path, tmp_path: Path, name: str) -> None:
    still: dict[str, Any] = {"dropout": None} if name == "mirror_bert" else {}
    case = Case(files, name, still, 16, encoder="encoder_without_dropout")
    model = build_model(case)
    batch = build_batch(case, model, tmp_path)
    encoded = model.encode(batch)
    alone = []
    for count in (8, 20, 32):
        cut = encoded.sentences[..., :count]
        alone.append(model.method(encoded._replace(sentences=cut))[TOTAL])
    model.dimensions = (32, 8, 20)
    torch.testing.assert_close(model(batch)[TOTAL], torch.stack(alone).mean())
    assert len({loss.item() for loss in alone}) == 3
