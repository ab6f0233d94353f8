"""Selection of the best model on the development tasks."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import save_encoder
from ease.io.atomic import atomic_folder, flush_to_disk
from ease.io.files import report_write_errors
from ease.methods.components.distributed import process_rank
from ease.training.lora import merged
from ease.training.model import TrainingModel

Evaluate = Callable[[SentenceTransformer], dict[str, float]]
"""Scores an encoder; `DEVELOPMENT` selects the best model."""


class BestModel:
    """The best model so far, in its own folder; of equal scores, the first is kept.

    The model named by the last checkpoint is kept, too: an interrupted training resumes from it.
    """

    def __init__(self, folder: Path, max_below_start: int | None = None) -> None:
        """Start without a model; with `max_below_start`, the model before the training is a candidate, too."""
        self._folder = folder
        self._limit = max_below_start
        self.step = self._recorded = 0
        self.score: float | None = None
        self._start: float | None = None
        self._below = 0

    @property
    def hopeless(self) -> bool:
        """Whether the last evaluations were all below the start."""
        return self._limit is not None and self._below >= self._limit

    def consider(self, step: int, model: TrainingModel, score: float | None) -> None:
        """Save the model if its score is the best so far; without scores, the last model is the best.

        The training does not wait for the disk, which takes seconds for a large entity table: `flush` does.
        """
        if step == 0:
            self._start = score
            if self._limit is None:
                return
        if score is not None and self._start is not None:
            self._below = self._below + 1 if score < self._start else 0
        if score is not None and self.score is not None and score <= self.score:
            return
        self.step, self.score = step, score
        with merged(model.encoder), atomic_folder(self.path, flush=False) as aside:
            save_encoder(model.encoder, aside)
            save_training_parts(model, aside / "training")
        self._keep(self._recorded, step)

    def flush(self) -> None:
        """Wait until the best model is on disk: before a checkpoint names it, and before it is published."""
        if not process_rank() and self.path.exists():
            with report_write_errors(self.path):
                flush_to_disk(self.path)

    @property
    def path(self) -> Path:
        """The folder of the best model."""
        return self._path(self.step)

    def _path(self, step: int) -> Path:
        return self._folder / f"best-{step:08d}"

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return {
            "best_step": self.step,
            "best_score": self.score,
            "start_score": self._start,
            "below_start": self._below,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the state of a checkpoint."""
        self.step, self.score = state["best_step"], state["best_score"]
        self._start, self._below = state.get("start_score"), state.get("below_start", 0)
        self._recorded = self.step

    def prune(self) -> None:
        """Remove all other models; call this only after a checkpoint has recorded the best one."""
        if process_rank():
            return  # only the first process knows the best model
        self._recorded = self.step
        self._keep(self.step)

    def _keep(self, *steps: int) -> None:
        """Remove the models of all other steps."""
        for other in self._folder.glob("best-*"):
            if other not in map(self._path, steps):
                shutil.rmtree(other, ignore_errors=True)

    def publish(self, target: Path, card: str | None, made: Path) -> None:
        """Move the best model, or one that was made of it, to a folder with its card, if no earlier run has done so."""
        if made.exists():
            if card is not None:
                (made / "README.md").write_text(card, encoding="utf-8")
            shutil.rmtree(target, ignore_errors=True)
            made.replace(target)
            shutil.rmtree(self.path, ignore_errors=True)
        self.prune()


def save_training_parts(model: TrainingModel, folder: Path) -> None:
    """Save the trained parameters beside the encoder: the entity table, its projection, the train-time MLP."""
    parts = {
        **{f"method.{name}": value for name, value in model.method.state_dict().items()},
        **{f"head.{name}": value for name, value in model.head.state_dict().items()},
    }
    if not parts:
        return
    if model.vocabulary_rows is not None:
        parts["vocabulary_rows"] = model.vocabulary_rows
    folder.mkdir(parents=True)
    save_file({name: value.contiguous() for name, value in parts.items()}, folder / "parts.safetensors")
    name = type(model.method).__module__.rpartition(".")[2]
    method = {"method": name, "options": model.method.options.model_dump(mode="json")}
    (folder / "method.json").write_text(json.dumps(method, indent=2), encoding="utf-8")


def score_encoder(model: TrainingModel, evaluate: Evaluate) -> dict[str, float]:
    """Evaluate the encoder without dropout and without compiled layers, restoring modes and random states."""
    device = next(model.parameters()).device
    devices = [device] if device.type == "cuda" else []
    model.eval()
    try:
        with (
            merged(model.encoder),
            torch.random.fork_rng(devices=devices),
            torch.inference_mode(),
            # Texts of an evaluation are longer than those of a training, and would be compiled for again.
            torch.compiler.set_stance("force_eager"),
        ):
            return evaluate(model.encoder)
    finally:
        model.train()
