"""Atomic checkpoints with exact resume; the best model, and removal of its language subspace."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.dataset as pads
import torch
import transformers
from safetensors.torch import load_file, load_model, save_file, save_model
from sentence_transformers import SentenceTransformer
from torch import Tensor

from ease.encoders.encoder import load_encoder, save_encoder
from ease.encoders.options import check_rank
from ease.encoders.saved import RUN_FILE
from ease.encoders.whitening import SENTENCES_PER_LANGUAGE, language_directions, mean_embeddings, remove_directions
from ease.errors import EaseError
from ease.evaluation.scoring import DEVELOPMENT, task_options
from ease.evaluation.tasks import get_task
from ease.io.atomic import atomic_folder, remove_folder
from ease.io.files import hash_contents
from ease.methods.base import SENTENCE
from ease.methods.components.distributed import gather, process_count, process_rank
from ease.training.model import TrainingModel, merged
from ease.training.optimizers import Optimizers
from ease.training.options import TrainingJob, TrainingOptions
from ease.training.prepared_pairs import LANGUAGE, distinct, open_pair_table

logger = logging.getLogger(__name__)

TRAINING_VERSION = 4
"""Raise it if the same job now gives another encoder: checkpoints and results of another version are not reused."""


class Checkpoints:
    """The latest checkpoint of one training, identified by its fingerprint."""

    def __init__(self, folder: Path, fingerprint: str, options: TrainingOptions) -> None:
        self._folder, self._fingerprint = folder, fingerprint
        self._seconds = options.checkpoint_seconds
        self._next = time.monotonic() + self._seconds

    @property
    def due(self) -> bool:
        """Whether to write one now: some seconds after the last one, or later if they would take too much time."""
        return time.monotonic() >= self._next

    def save(self, step: int, model: TrainingModel, optimizers: Optimizers, state: dict[str, Any]) -> None:
        """Write a checkpoint in the first process and remove older ones; every process must call this."""
        device = next(model.parameters()).device
        drawn = {"cpu": torch.get_rng_state()}
        if device.type == "cuda":
            drawn["cuda"] = torch.cuda.get_rng_state(device)
        # Of all processes, (processes, bytes)
        random = {name: gather(one.to(device)).cpu().view(process_count(), -1) for name, one in drawn.items()}
        if process_rank():
            return
        began = time.monotonic()
        values = {
            f"{name}/{index}/{key}": value
            for name, optimizer in optimizers.by_name.items()
            for index, kept in optimizer.state_dict()["state"].items()
            for key, value in kept.items()
        }
        tensors = {name: value.contiguous() for name, value in values.items() if isinstance(value, Tensor)}
        scalars = {name: value for name, value in values.items() if name not in tensors}
        with atomic_folder(self._folder / f"step-{step:08d}") as aside:
            save_model(model, str(aside / "model.safetensors"))
            save_file(tensors, aside / "optimizers.safetensors")
            save_file(random, aside / "random.safetensors")
            text = json.dumps({**state, "step": step, "fingerprint": self._fingerprint, "scalars": scalars})
            (aside / "state.json").write_text(text, encoding="utf-8")
        ended = time.monotonic()
        # Large ones take a tenth of the time at most, unless every step is to have one.
        self._next = ended + (max(self._seconds, 9 * (ended - began)) if self._seconds else 0.0)
        for older in self._folder.glob("step-*"):
            if older.name != f"step-{step:08d}":
                remove_folder(older)

    def resume(self, model: TrainingModel, optimizers: Optimizers) -> dict[str, Any] | None:
        """Restore this training's latest checkpoint, and return its state and `step`; None if there is none."""
        found = sorted(self._folder.glob("step-*"), reverse=True)
        for folder in found:
            state: dict[str, Any] = json.loads((folder / "state.json").read_text(encoding="utf-8"))
            if state["fingerprint"] == self._fingerprint:
                self._restore(state, model, optimizers)
                logger.info("Resuming after step %d", state["step"])
                return state
        if found:
            logger.warning(
                "%s belongs to a training with other data, options, libraries or code, or on another device: starting "
                "from the beginning",
                found[0],
            )
        return None

    def _restore(self, state: dict[str, Any], model: TrainingModel, optimizers: Optimizers) -> None:
        """Restore a checkpoint's tensors and this process's random state."""
        folder = self._folder / f"step-{state['step']:08d}"
        load_model(model, str(folder / "model.safetensors"))
        states: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in optimizers.by_name}
        for path, value in {**load_file(folder / "optimizers.safetensors"), **state["scalars"]}.items():
            name, index, key = path.split("/")
            states[name].setdefault(int(index), {})[key] = value
        for name, optimizer in optimizers.by_name.items():
            optimizer.load_state_dict({**optimizer.state_dict(), "state": states[name]})
        random = load_file(folder / "random.safetensors")
        torch.set_rng_state(random["cpu"][process_rank()].clone())  # a view of row 1 is refused
        device = next(model.parameters()).device
        if device.type == "cuda":
            torch.cuda.set_rng_state(random["cuda"][process_rank()].clone(), device)


WITHOUT_EFFECT = {"checkpoint_seconds", "threads", "processes"}
"""Options that do not change the result of a training, except for rounding"""

NOTES = {"README.md", RUN_FILE}
"""Files of a saved encoder to which runs write: its card has scores, and each run that uses it has a number"""


def fingerprint_of(job: TrainingJob, processes: int) -> str:
    """Hash a job, with its files' contents instead of their paths, because a rerun may write the same table elsewhere.

    The number of processes counts, because a checkpoint has the random state of each.
    """
    method_options = job.method_options.model_dump(mode="json")
    if anchor := method_options.get("anchor"):  # DuEAM's
        method_options["anchor"] = _encoder(anchor)
    development = {}
    for name, options in job.development.items():
        read = get_task(name).files(task_options(name, {name: options}))
        files = {subset: [_contents(file) for file in found] for subset, found in read.items()}
        development[name] = {**options, "path": None, "files": files}
    described: dict[str, Any] = {
        "code": TRAINING_VERSION,
        "libraries": [torch.__version__, transformers.__version__],
        **{name: _contents(getattr(job, name)) for name in ("pairs", "vocabulary", "table")},
        "encoder": _encoder(job.encoder),
        "pooling": job.pooling,
        "method": job.method,
        "method_options": method_options,
        "development": development,
        "training": job.training.model_dump(exclude={*WITHOUT_EFFECT, "teacher", "guide"}),
        "processes": processes,
    }
    for role, frozen in job.training.frozen.items():
        options = frozen.model_dump(exclude={"batch_size", "cache"})
        described[role] = {**options, "encoder": _encoder(frozen.located(job.encoder))}
    return _hash(described)


def _encoder(name: str) -> str:
    """Hash what a saved encoder computes from; return a hub name unchanged."""
    folder = Path(name)
    if not folder.is_dir():
        return hash_contents(folder) if folder.exists() else name
    lines = []
    for file in sorted(file for file in folder.rglob("*") if file.is_file()):
        if (place := file.relative_to(folder).as_posix()) in NOTES:
            continue
        if file.name == "tokenizer.json":  # encoding sets its padding and truncation, which change nothing
            described = json.loads(file.read_text(encoding="utf-8"))
            lines.append(f"{place} {_hash({**described, 'padding': None, 'truncation': None})}")
        else:
            lines.append(f"{place} {hash_contents(file)}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _hash(described: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def _contents(path: Path | None) -> str | None:
    return None if path is None else hash_contents(path) if path.exists() else str(path)


Evaluate = Callable[[SentenceTransformer], dict[str, float]]
"""Scores an encoder; `DEVELOPMENT` selects the best model."""


class BestModel:
    """The best model so far, in its own folder; of equal scores, the first is kept.

    The model named by the last checkpoint is kept, too: an interrupted training resumes from it. With
    `max_below_start`, the model before the training is a candidate.
    """

    def __init__(self, folder: Path, max_below_start: int | None = None) -> None:
        self._folder, self._limit = folder, max_below_start
        self.step = self._recorded = self._below = 0
        self.score: float | None = None
        self._start: float | None = None

    @property
    def hopeless(self) -> bool:
        """Whether the last evaluations were all below the start."""
        return self._limit is not None and self._below >= self._limit

    @property
    def path(self) -> Path:
        """The folder of the best model."""
        return self._path(self.step)

    def _path(self, step: int) -> Path:
        return self._folder / f"best-{step:08d}"

    def consider(self, step: int, model: TrainingModel, score: float | None) -> None:
        """Save the model if its score is the best so far; without scores, the last model is the best."""
        if step == 0:
            self._start = score
            if self._limit is None:
                return
        if score is not None and self._start is not None:
            self._below = self._below + 1 if score < self._start else 0
        if score is not None and self.score is not None and score <= self.score:
            return
        self.step, self.score = step, score
        with merged(model.encoder), atomic_folder(self.path) as aside:
            save_encoder(model.encoder, aside)
            save_training_parts(model, aside / "training")
        self._keep(self._recorded, step)

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
        self.step = self._recorded = state["best_step"]
        self.score, self._start, self._below = (state[name] for name in ("best_score", "start_score", "below_start"))

    def prune(self) -> None:
        """Remove all other models; call this only after a checkpoint has recorded the best one."""
        if not process_rank():  # only the first process knows the best model
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
    parts = {**model.method.state_dict(prefix="method."), **model.head.state_dict(prefix="head.")}
    if not parts:
        return
    if model.vocabulary_rows is not None:
        parts["vocabulary_rows"] = model.vocabulary_rows
    folder.mkdir()
    save_file({name: value.contiguous() for name, value in parts.items()}, folder / "parts.safetensors")
    name = type(model.method).__module__.rpartition(".")[2]
    method = {"method": name, "options": model.method.options.model_dump(mode="json")}
    (folder / "method.json").write_text(json.dumps(method, indent=2), encoding="utf-8")


def score_encoder(model: TrainingModel, evaluate: Evaluate) -> dict[str, float]:
    """Evaluate the encoder without dropout and without compiled layers, restoring modes and random states."""
    device = next(model.parameters()).device
    model.eval()
    try:
        with (
            merged(model.encoder),
            torch.random.fork_rng(devices=[device] if device.type == "cuda" else []),
            torch.inference_mode(),
            # Texts of an evaluation are longer than those of a training, and would be compiled for again.
            torch.compiler.set_stance("force_eager"),
        ):
            return evaluate(model.encoder)
    finally:
        model.train()


def remove_languages(
    model: Path, target: Path, pairs: Path, ranks: Sequence[int], evaluate: Evaluate | None, device: torch.device
) -> dict[str, float]:
    """Save a trained encoder without its language subspace, at the best of the ranks; return its development scores."""
    encoder = load_encoder(str(model)).to(device)
    source = open_pair_table(pairs, (LANGUAGE, SENTENCE))
    sentences = {language: _of_language(source, language) for language in distinct(source, LANGUAGE)}
    directions = language_directions(mean_embeddings(encoder, sentences))

    def without(rank: int) -> SentenceTransformer:
        changed = copy.deepcopy(encoder)
        if rank:
            remove_directions(changed, directions[:rank])
        return changed

    scored = {rank: evaluate(without(rank)) if evaluate else {} for rank in ranks}
    chosen = max(ranks, key=lambda rank: scored[rank].get(DEVELOPMENT, 0.0))
    found = {rank: round(scores[DEVELOPMENT], 2) for rank, scores in scored.items() if scores}
    logger.info("Removed %d directions of the language subspace (scores by rank: %s)", chosen, found or "none")
    with atomic_folder(target) as folder:
        save_encoder(without(chosen), folder)
        if (model / "training").exists():
            shutil.copytree(model / "training", folder / "training")
    return scored[chosen]


def check_ranks(pairs: Path, ranks: Sequence[int], development: bool) -> None:
    """Refuse several ranks without development tasks, and ranks above the number of languages minus one."""
    if len(ranks) > 1 and not development:
        raise EaseError(
            f"`language_ranks` {', '.join(map(str, ranks))}: a choice needs development tasks; give a single rank."
        )
    if ranks:
        check_rank(max(ranks), languages=len(distinct(open_pair_table(pairs, (LANGUAGE,)), LANGUAGE)))


def _of_language(source: pads.Dataset, language: str) -> Iterator[str]:
    """Yield evenly spaced sentences of a language."""
    chosen = pads.field(LANGUAGE) == language
    step = -(-source.count_rows(filter=chosen) // SENTENCES_PER_LANGUAGE)
    seen = 0
    for batch in source.to_batches(columns=[SENTENCE], filter=chosen):
        yield from batch.column(SENTENCE)[(-seen) % step :: step].to_pylist()
        seen += batch.num_rows
