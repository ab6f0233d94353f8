"""Selection of the best model on the development tasks, and removal of its language subspace."""

from __future__ import annotations

import copy
import json
import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as pads
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import load_encoder, save_encoder
from ease.encoders.whitening import (
    SENTENCES_PER_LANGUAGE,
    language_directions,
    mean_embeddings,
    remove_directions,
)
from ease.errors import EaseError
from ease.io.atomic import atomic_folder, flush_to_disk
from ease.io.files import report_write_errors
from ease.io.names import DEVELOPMENT
from ease.methods.base import SENTENCE
from ease.methods.components.distributed import process_rank
from ease.training.inputs import LANGUAGE, distinct, open_pair_table
from ease.training.lora import merged
from ease.training.model import TrainingModel

logger = logging.getLogger(__name__)

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


def remove_languages(
    model: Path,
    target: Path,
    pairs: Path,
    ranks: Sequence[int],
    evaluate: Evaluate | None,
    device: torch.device,
) -> dict[str, float]:
    """Save a trained encoder without its language subspace, which the means of the pairs' languages span.

    A single rank is used without a comparison.

    Returns:
        Development scores of the saved encoder; empty if none were computed.
    """
    encoder = load_encoder(str(model)).to(device)
    source = open_pair_table(pairs, (LANGUAGE, SENTENCE))
    sentences = {language: _of_language(source, language) for language in distinct(source, LANGUAGE)}
    directions = language_directions(mean_embeddings(encoder, sentences))
    scored: dict[int, dict[str, float]] = {}
    for rank in ranks:
        scored[rank] = {} if evaluate is None else evaluate(_without(encoder, directions, rank))
    chosen = max(ranks, key=lambda rank: scored[rank].get(DEVELOPMENT, 0.0))
    logger.info(
        "Removed %d directions of the language subspace (development scores by rank: %s)",
        chosen,
        ", ".join(f"{rank}: {scores[DEVELOPMENT]:.2f}" for rank, scores in scored.items() if scores)
        or "none",
    )
    with atomic_folder(target) as folder:
        save_encoder(_without(encoder, directions, chosen), folder)
        if (model / "training").exists():
            shutil.copytree(model / "training", folder / "training")
    return scored[chosen]


def check_ranks(pairs: Path, ranks: Sequence[int], development: bool) -> None:
    """Refuse unusable ranks before the training.

    Raises:
        EaseError: If several ranks are given without development tasks, or a rank is above the number of languages
            minus one.
    """
    if len(ranks) > 1 and not development:
        raise EaseError(
            f"`language_ranks` {', '.join(map(str, ranks))}: a choice needs development tasks; give a single rank."
        )
    languages = len(distinct(open_pair_table(pairs, (LANGUAGE,)), LANGUAGE)) if ranks else 0
    if ranks and max(ranks) > languages - 1:
        raise EaseError(
            f"`language_ranks` {max(ranks)}: the means of {languages} language(s) span {languages - 1} direction(s); "
            "lower the rank, or set `language_ranks` to []."
        )


def _without(encoder: SentenceTransformer, directions: NDArray[np.float64], rank: int) -> SentenceTransformer:
    """Return a copy of an encoder without the first directions."""
    changed = copy.deepcopy(encoder)
    if rank:
        remove_directions(changed, directions[:rank])
    return changed


def _of_language(source: pads.Dataset, language: str) -> Iterator[str]:
    """Yield evenly spaced sentences of a language."""
    chosen = pads.field(LANGUAGE) == language
    step = -(-source.count_rows(filter=chosen) // SENTENCES_PER_LANGUAGE)
    seen = 0
    for batch in source.to_batches(columns=[SENTENCE], filter=chosen):
        yield from batch.column(SENTENCE)[(-seen) % step :: step].to_pylist()
        seen += batch.num_rows
