"""Half precision on a CPU: gradients near those in single precision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from ease.encoders.encoder import load_encoder
from ease.training.half_precision import HalfTransformer
from ease.training.job import run_job
from ease.training.token_tables import use_token_tables
from tests.training.tiny_training import MakeJob, losses


def test_gradients_of_several_chunks_are_near_those_in_single_precision(files: Path) -> None:
    chunks = [torch.arange(5, 45).view(4, 10), torch.arange(20, 60).view(2, 20)]
    masks = [torch.ones_like(chunk) for chunk in chunks]
    masks[0][0, 4:] = 0

    def gradients(half: bool) -> dict[str, Tensor]:
        encoder = load_encoder(str(files / "encoder_without_dropout")).train()
        transformer: Any = encoder[0]
        if half:
            use_token_tables(encoder[0])
            transformer = HalfTransformer(encoder)
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            if half:
                transformer.cast()
            losses = []
            for chunk, mask in zip(chunks, masks, strict=True):
                states = transformer({"input_ids": chunk, "attention_mask": mask})["token_embeddings"]
                assert states.dtype == torch.float32
                losses.append((states[mask.bool()] ** 3).sum())
        torch.stack(losses).sum().backward()
        return {name: weight.grad for name, weight in encoder.named_parameters() if weight.grad is not None}

    expected, found = gradients(False), gradients(True)
    assert found.keys() == expected.keys()
    for name, gradient in found.items():
        assert gradient.dtype == torch.float32
        # A key's bias does not change attention: its gradient is rounding alone.
        if not name.endswith("key.bias"):
            assert torch.cosine_similarity(gradient.flatten(), expected[name].flatten(), dim=0) > 0.998, name
            assert float(gradient.norm()) == pytest.approx(float(expected[name].norm()), rel=0.02), name


@pytest.mark.parametrize(
    "changes",
    [{"training": {"lora": {"rank": 4}}}, {"method": "mlm", "table": None, "vocabulary": None}],
    ids=["lora", "mlm"],
)
def test_losses_with_adapters_and_of_tied_tables_are_near_those_in_single_precision(
    make_job: MakeJob, changes: dict[str, Any]
) -> None:
    def trained(precision: str) -> list[float]:
        training = {"max_steps": 3, "max_grad_norm": 0.5, "precision": precision, **changes.get("training", {})}
        options = {**changes, "training": training, "development": {}}
        return list(losses(run_job(make_job(precision, "encoder_without_dropout", **options))).values())

    assert trained("bf16") == pytest.approx(trained("fp32"), rel=0.02)
