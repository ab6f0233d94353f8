"""Compare the losses of a training with those of a plain single-precision loop on the same batches."""

from __future__ import annotations

import math
import tempfile
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import AdamW, SparseAdam

from benchmarks.training_data import MAX_TOKENS
from ease.encoders.encoder import load_encoder
from ease.training.job import run_job
from ease.training.options import TrainingJob, TrainingOptions
from ease.training.sampling import pair_indices

RATE = 1e-4
TEMPERATURE = 0.05
Curve = NDArray[np.float64]


def our_job(folder: Path, work: Path, method: str, encoder: str = "encoder", **training: Any) -> TrainingJob:
    """Return an EASE job on the files that `prepare` wrote."""
    return TrainingJob(
        folder=work,
        pairs=folder / "pairs.parquet",
        encoder=str(folder / encoder),
        method=method,
        vocabulary=folder / "vocabulary.parquet",
        table=folder / "table.safetensors",
        training=TrainingOptions(max_tokens=MAX_TOKENS, **training),
    )


def our_curve(folder: Path, method: str, **training: Any) -> Curve:
    """Return the losses of the EASE trainer, without dropout."""
    with tempfile.TemporaryDirectory() as work:
        job = our_job(folder, Path(work), method, "still", learning_rate=RATE, report_every=1, **training)
        return np.array([line["loss"] for line in run_job(job).history])


def plain_curve(folder: Path, method: str, batch_size: int, steps: int, device: str, half: bool) -> Curve:
    """Return the losses of a plain loop: eager mode, padded batches, one view at a time.

    Optimisers, learning rates, gradient clipping and batches are those of the EASE trainer. With `half`, the encoder
    runs in bfloat16.
    """
    pairs = pq.read_table(folder / "pairs.parquet")
    encoder = load_encoder(str(folder / "still")).to(device).train()
    dense: list[nn.Parameter] = list(encoder.parameters())
    if method == "ease":
        table = nn.Embedding.from_pretrained(
            load_file(folder / "table.safetensors")["embeddings"], freeze=False, sparse=True
        )
        table.to(device)
        projection = nn.Parameter(_projection(folder, batch_size).to(device))
        dense.append(projection)
        sparse = SparseAdam([table.weight], lr=RATE)
    optimizer = AdamW(dense, lr=RATE, weight_decay=0.0, foreach=False)
    losses = []
    for step, rows in enumerate(islice(pair_indices(len(pairs), batch_size, seed=0), steps)):
        batch = pairs.take(rows)
        texts = encoder.tokenizer(
            batch["sentence"].to_pylist(),
            padding=True,
            truncation=True,
            max_length=MAX_TOKENS,
            return_tensors="pt",
        ).to(device)
        with torch.autocast(device, torch.bfloat16, enabled=half):
            views = [encoder(dict(texts))["sentence_embedding"].float() for _ in range(2)]
        loss = _contrast(views[0], views[1])
        if method == "ease":
            ids = torch.from_numpy(
                np.concatenate([batch[name].to_numpy() for name in ("entity", "hard_negative")])
            )
            loss = loss + _contrast(views[0], table(ids.to(device)) @ projection.T)
        loss.backward()
        steppers = [optimizer, sparse] if method == "ease" else [optimizer]
        _clip(dense, table.weight if method == "ease" else None)
        for stepper in steppers:
            for group in stepper.param_groups:
                group["lr"] = RATE * (steps - step) / steps
            stepper.step()
            stepper.zero_grad()
        losses.append(loss.item())
    return np.array(losses)


def _contrast(anchors: Tensor, candidates: Tensor) -> Tensor:
    """Return the loss of equations 2 and 3: candidate i is the positive of anchor i."""
    cosines = functional.normalize(anchors, dim=1) @ functional.normalize(candidates, dim=1).T
    return functional.cross_entropy(cosines / TEMPERATURE, torch.arange(len(anchors), device=anchors.device))


def _clip(dense: list[nn.Parameter], table: nn.Parameter | None) -> None:
    """Clip the gradients to a joint norm of 1."""
    gradients = [weights.grad for weights in dense if weights.grad is not None]
    if table is not None and table.grad is not None:
        table.grad = table.grad.coalesce()
        gradients.append(table.grad.values())
    norm = math.sqrt(sum(float(gradient.double().square().sum()) for gradient in gradients))
    for gradient in gradients:
        gradient.mul_(min(1.0, 1 / (norm + 1e-6)))


@cache
def _projection(folder: Path, batch_size: int) -> Tensor:
    """Return the initial projection of the EASE trainer, from a training with a negligible learning rate."""
    with tempfile.TemporaryDirectory() as work:
        job = our_job(
            folder,
            Path(work),
            "ease",
            "still",
            learning_rate=1e-30,
            max_steps=1,
            batch_size=batch_size,
            device="cpu",
        )
        return load_file(run_job(job).model / "training" / "parts.safetensors")["method.projection.weight"]


def differences(found: Curve, expected: Curve) -> str:
    """Return the maximum and the mean difference of two curves as table cells."""
    gaps = np.abs(found - expected)
    return f"{gaps.max():.1e} | {gaps.mean():.1e}"
