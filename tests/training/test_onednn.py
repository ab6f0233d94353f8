"""A training with oneDNN's linear layers is the same training but for rounding."""

from __future__ import annotations

from typing import Any

import pytest

from ease.encoders.onednn import OneDnnLinear
from ease.training.job import run_job
from ease.training.model import TrainingModel
from tests.training.tiny_training import MakeJob, losses, weights

CHANGES: dict[str, dict[str, Any]] = {
    "padded": {},
    "packed, in mini-batches": {"packed": True, "length_chunks": None, "mini_batch_size": 8},
    "lora": {"lora": {"rank": 4, "alpha": 8}},
}


@pytest.mark.parametrize("case", CHANGES)
def test_losses_are_those_of_torchs_layers(
    make_job: MakeJob, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """With dropout, whose masks are the same."""
    replaced: list[int] = []
    prepare = TrainingModel.train

    def counted(model: TrainingModel, mode: bool = True) -> TrainingModel:
        replaced.append(sum(isinstance(one, OneDnnLinear) for one in model.encoder.modules()))
        return prepare(model, mode)

    monkeypatch.setattr(TrainingModel, "train", counted)
    torchs, onednns = (
        run_job(
            make_job(
                str(onednn), training={**CHANGES[case], "onednn": onednn, "max_steps": 4}, development={}
            )
        )
        for onednn in (False, True)
    )
    assert replaced[0] == 0
    assert replaced[-1] >= 2 * 6, "six linear layers in each of two blocks"
    assert losses(onednns) == pytest.approx(losses(torchs), rel=1e-4)
    assert weights(onednns).keys() == weights(torchs).keys()
    configurations = [(result.model / "config.json").read_text() for result in (torchs, onednns)]
    assert configurations[0] == configurations[1]


def test_heads_are_dropped_as_in_torchs_layers(make_job: MakeJob) -> None:
    """DropHead hooks into linear layers before they become oneDNN's."""

    def trained(onednn: bool, drophead: float) -> dict[int, float]:
        options = {"span": 0, "drophead": drophead}
        training = {"onednn": onednn, "max_steps": 3}
        folder = f"{onednn} {drophead}"
        job = make_job(
            folder, method="mirror_bert", method_options=options, training=training, development={}
        )
        return losses(run_job(job))

    dropped = trained(onednn=True, drophead=0.3)
    assert dropped == pytest.approx(trained(onednn=False, drophead=0.3), rel=1e-4)
    assert dropped != pytest.approx(trained(onednn=True, drophead=0.0), rel=1e-2)
