"""Atomic checkpoints with exact resume; the best model, and removal of its language subspace."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow.dataset as pads
import torch
import transformers
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from torch import Tensor

from ease.device import gpus_of
from ease.encoders.encoder import load_encoder, save_encoder
from ease.encoders.options import check_rank
from ease.encoders.saved import RUN_FILE
from ease.encoders.whitening import SENTENCES_PER_LANGUAGE, language_directions, mean_embeddings, remove_directions
from ease.errors import EaseError
from ease.evaluation.scores import kept_percent
from ease.evaluation.scoring import DEVELOPMENT, RETENTION
from ease.evaluation.tasks import build_task
from ease.io.atomic import atomic_folder, remove_folder
from ease.io.files import hash_contents
from ease.methods.base import SENTENCE
from ease.methods.components.distributed import gather, process_count, process_rank
from ease.training.changed_rows import restore_rows, row_checksums, without_unchanged, without_zero_rows
from ease.training.model import TrainingModel, merged
from ease.training.optimizers import Optimizers
from ease.training.options import TrainingJob, TrainingOptions
from ease.training.prepared_pairs import LANGUAGE_COLUMN, distinct, open_pair_table

logger = logging.getLogger(__name__)

TRAINING_VERSION = 6
"""Raise it if the same job now gives another encoder: checkpoints and results of another version are not reused."""


class Checkpoints:
    """The latest checkpoint of one training run, identified by its fingerprint."""

    def __init__(self, folder: Path, fingerprint: str, options: TrainingOptions) -> None:
        self._folder = folder
        self._fingerprint = fingerprint
        self._seconds = options.checkpoint_seconds
        self._next = time.monotonic() + self._seconds
        self._start: dict[str, Tensor] = {}
        """Checksums of the rows with which the training starts"""

    @property
    def due(self) -> bool:
        """Whether to write one now: some seconds after the last one, or later if they would take too much time."""
        return time.monotonic() >= self._next

    def save(self, step: int, model: TrainingModel, optimizers: Optimizers, state: dict[str, Any]) -> None:
        """Write a checkpoint in the first process and remove older ones; every process must call this."""
        device = next(model.parameters()).device
        random_states = {"cpu": torch.get_rng_state()}
        if device.type == "cuda":
            random_states["cuda"] = torch.cuda.get_rng_state(device)
        # Of all processes, (processes, bytes)
        random = {
            name: gather(state.to(device)).cpu().view(process_count(), -1) for name, state in random_states.items()
        }
        if process_rank():
            return
        began = time.monotonic()
        # safetensors stores tensors alone, by flat names; the other values go into the JSON file.
        values = {
            f"{name}/{index}/{key}": value
            for name, optimizer in optimizers.by_name.items()
            for index, parameter_state in optimizer.state_dict()["state"].items()
            for key, value in parameter_state.items()
        }
        tensors = {name: value for name, value in values.items() if isinstance(value, Tensor)}
        scalars = {name: value for name, value in values.items() if name not in tensors}
        with atomic_folder(self._folder / f"step-{step:08d}") as aside:
            save_file(without_unchanged(_weights(model), self._start), aside / "model.safetensors")
            save_file(without_zero_rows(tensors), aside / "optimizers.safetensors")
            save_file(random, aside / "random.safetensors")
            text = json.dumps({**state, "step": step, "fingerprint": self._fingerprint, "scalars": scalars})
            (aside / "state.json").write_text(text, encoding="utf-8")
        ended = time.monotonic()
        self._next = ended
        if self._seconds:  # 0: every step has one
            # Large checkpoints take a tenth of the time at most.
            self._next += max(self._seconds, 9 * (ended - began))
        for older in self._folder.glob("step-*"):
            if older.name != f"step-{step:08d}":
                remove_folder(older)

    def resume(self, model: TrainingModel, optimizers: Optimizers) -> dict[str, Any] | None:
        """Restore this training run's latest checkpoint, and return its state and `step`; None if there is none.

        `model` is as `build_model` made it: checkpoints do not have the rows that a training run has not changed.
        """
        self._start = row_checksums(_weights(model))
        folders = sorted(self._folder.glob("step-*"), reverse=True)
        for folder in folders:
            state: dict[str, Any] = json.loads((folder / "state.json").read_text(encoding="utf-8"))
            if state["fingerprint"] == self._fingerprint:
                self._restore(state, model, optimizers)
                logger.info("Resuming after step %d", state["step"])
                return state
        if folders:
            logger.warning(
                "%s belongs to a training run with other data, options, libraries or code, or on another device: "
                "starting from the beginning",
                folders[0],
            )
        return None

    def _restore(self, state: dict[str, Any], model: TrainingModel, optimizers: Optimizers) -> None:
        """Restore a checkpoint's tensors and this process's random state."""
        folder = self._folder / f"step-{state['step']:08d}"
        weights = model.state_dict()
        for name, value in restore_rows(load_file(folder / "model.safetensors"), weights.__getitem__):
            weights[name].copy_(value)
        moments = load_file(folder / "optimizers.safetensors")
        parameters = {
            name: [weights for group in optimizer.param_groups for weights in group["params"]]
            for name, optimizer in optimizers.by_name.items()
        }

        def zeros(path: str) -> Tensor:
            name, index, _ = path.split("/")
            return torch.zeros(parameters[name][int(index)].shape, dtype=moments[path].dtype)

        states: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in optimizers.by_name}
        for path, value in chain(restore_rows(moments, zeros), state["scalars"].items()):
            name, index, key = path.split("/")
            states[name].setdefault(int(index), {})[key] = value
        for name, optimizer in optimizers.by_name.items():
            optimizer.load_state_dict({**optimizer.state_dict(), "state": states[name]})
        random = load_file(folder / "random.safetensors")
        torch.set_rng_state(random["cpu"][process_rank()].clone())  # a view of row 1 is refused
        device = next(model.parameters()).device
        if device.type == "cuda":
            torch.cuda.set_rng_state(random["cuda"][process_rank()].clone(), device)


def _weights(model: TrainingModel) -> dict[str, Tensor]:
    """Return each tensor of a model once: tied weights have several names, which safetensors refuses."""
    names: dict[tuple[int, int], str] = {}
    state = model.state_dict()
    return {
        name: tensor
        for name, tensor in state.items()
        if not tensor.numel() or names.setdefault((tensor.data_ptr(), tensor.numel()), name) == name
    }


WITHOUT_EFFECT = {"checkpoint_seconds", "threads", "processes"}
"""Options that do not change the result of a training run, except for rounding"""

NOTES = {"README.md", RUN_FILE}
"""Files of a saved encoder to which runs write: its card has scores, and each run that uses it has a number"""


def fingerprint_of(job: TrainingJob, processes: int) -> str:
    """Hash a job, with its files' contents instead of their paths, because a rerun may write the same table elsewhere.

    The number of processes counts, because a checkpoint has the random state of each.
    """
    method_options = job.method_options.model_dump(mode="json")
    if anchor := method_options.get("anchor"):  # the frozen encoder of DuEAM
        method_options["anchor"] = _encoder_contents(anchor)
    description: dict[str, Any] = {
        "code": TRAINING_VERSION,
        "libraries": [torch.__version__, transformers.__version__],
        **{name: _contents(getattr(job, name)) for name in ("pairs", "vocabulary", "table")},
        "encoder": _encoder_contents(job.encoder),
        "pooling": job.pooling,
        "method": job.method,
        "method_options": method_options,
        "development": _task_contents(job.development),
        "retention": _task_contents(job.retention),
        "training": job.training.model_dump(exclude={*WITHOUT_EFFECT, "teacher", "guide"}),
        "processes": processes,
    }
    for role, frozen in job.training.frozen.items():
        options = frozen.model_dump(exclude={"batch_size", "cache"})
        description[role] = {**options, "encoder": _encoder_contents(frozen.located(job.encoder))}
    return _hash(description)


def _task_contents(tasks: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the options of tasks, with their files' hashes in place of the path."""
    contents = {}
    for name, options in tasks.items():
        files_by_subset = build_task(name, options).files()
        hashes = {subset: [_contents(file) for file in files] for subset, files in files_by_subset.items()}
        contents[name] = {**options, "path": None, "files": hashes}
        # A rerun writes the same encoder to another folder.
        if start := options.get("start"):
            contents[name]["start"] = _encoder_contents(start)
    return contents


def _encoder_contents(name: str) -> str:
    """Hash what a saved encoder computes from; return a hub name unchanged."""
    folder = Path(name)
    if folder.is_file():  # word vectors
        return hash_contents(folder)
    if not folder.is_dir():
        return name
    lines = []
    for file in sorted(file for file in folder.rglob("*") if file.is_file()):
        relative = file.relative_to(folder).as_posix()
        if relative in NOTES:
            continue
        if file.name == "tokenizer.json":
            # Encoding sets the tokenizer's padding and truncation, which change nothing.
            tokenizer = json.loads(file.read_text(encoding="utf-8"))
            lines.append(f"{relative} {_hash({**tokenizer, 'padding': None, 'truncation': None})}")
        else:
            lines.append(f"{relative} {hash_contents(file)}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _hash(description: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()


def _contents(path: Path | None) -> str | None:
    """Hash a file or folder; return a path that does not exist unchanged, so that opening it reports it."""
    if path is None:
        return None
    if not path.exists():
        return str(path)
    return hash_contents(path)


Evaluate = Callable[[SentenceTransformer], dict[str, float]]
"""Scores an encoder; `DEVELOPMENT` selects the best model."""


class BestModel:
    """The best model so far, in its own folder; of equal scores, the first is kept.

    The model named by the last checkpoint is also kept: an interrupted training run resumes from it. With
    `max_below_start` or `min_kept`, the starting encoder is a candidate. With `min_kept`, a model that keeps less of
    what the starting encoder knows is none.
    """

    def __init__(self, folder: Path, max_below_start: int | None = None, min_kept: float | None = None) -> None:
        self._folder = folder
        self._min_kept = min_kept
        self._max_below_start = max_below_start
        self.step = 0
        self.score: float | None = None
        self._checkpoint_step = 0
        """The step of the best model when the last checkpoint was written"""
        self._start_score: float | None = None
        self._start_retention: dict[str, float] = {}
        self._count_below = 0
        """Evaluations in a row below the starting encoder"""

    @property
    def hopeless(self) -> bool:
        """Whether the last evaluations were all below the starting encoder."""
        return self._max_below_start is not None and self._count_below >= self._max_below_start

    @property
    def path(self) -> Path:
        """The folder of the best model."""
        return self._path(self.step)

    def _path(self, step: int) -> Path:
        return self._folder / f"best-{step:08d}"

    def add_retention(self, step: int, scores: dict[str, float]) -> dict[str, float]:
        """Return scores with the share, in percent, that they keep of the starting encoder's on its known tasks."""
        retention = {name: score for name, score in scores.items() if name.startswith(f"{RETENTION}/")}
        if step == 0:
            self._start_retention = retention
        if not retention:
            return scores
        return {**scores, RETENTION: kept_percent(self._start_retention, retention)}

    def consider(self, step: int, model: TrainingModel, score: float | None, kept: float | None = None) -> None:
        """Save the model if its score is the best so far; without scores, the last model is the best.

        `kept`: Share of what the starting encoder knows, in percent; None: unknown.
        """
        if step == 0:
            self._start_score = score
            if self._max_below_start is None and self._min_kept is None:
                return
        if score is not None and self._start_score is not None:
            if score < self._start_score:
                self._count_below += 1
            else:
                self._count_below = 0
        if score is not None and self.score is not None and score <= self.score:
            return
        if self._min_kept is not None and kept is not None and kept < self._min_kept and step > 0:
            logger.info("Step %d keeps %.1f%% of what the starting encoder knows: no candidate", step, kept)
            return
        self.step = step
        self.score = score
        with merged(model.encoder), atomic_folder(self.path) as aside:
            save_encoder(model.encoder, aside)
            save_training_parts(model, aside / "training")
        self._keep(self._checkpoint_step, step)

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return {
            "best_step": self.step,
            "best_score": self.score,
            "start_score": self._start_score,
            "start_retention": self._start_retention,
            "below_start": self._count_below,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the state of a checkpoint."""
        self.step = self._checkpoint_step = state["best_step"]
        self.score = state["best_score"]
        self._start_score = state["start_score"]
        self._start_retention = state["start_retention"]
        self._count_below = state["below_start"]

    def prune(self) -> None:
        """Remove all other models; call this only after a checkpoint has recorded the best one."""
        if not process_rank():  # only the first process knows the best model
            self._checkpoint_step = self.step
            self._keep(self.step)

    def _keep(self, *steps: int) -> None:
        """Remove the models of all other steps."""
        for model in self._folder.glob("best-*"):
            if model not in map(self._path, steps):
                shutil.rmtree(model, ignore_errors=True)

    def publish(self, target: Path, card: str | None, source: Path) -> None:
        """Move the best model, or one that was made of it, to a folder with its card, if no earlier run has done so."""
        if source.exists():
            if card is not None:
                (source / "README.md").write_text(card, encoding="utf-8")
            shutil.rmtree(target, ignore_errors=True)
            source.replace(target)
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


def score_development(model: TrainingModel, evaluate: Evaluate) -> dict[str, float]:
    """Evaluate the encoder without dropout and without compiled layers, restoring modes and random states."""
    device = next(model.parameters()).device
    model.eval()
    try:
        with (
            merged(model.encoder),
            torch.random.fork_rng(gpus_of(device)),
            torch.inference_mode(),
            # Evaluation texts are longer than training texts and would trigger recompilation.
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
    source = open_pair_table(pairs, (LANGUAGE_COLUMN, SENTENCE))
    sentences = {language: _of_language(source, language) for language in distinct(source, LANGUAGE_COLUMN)}
    directions = language_directions(mean_embeddings(encoder, sentences))

    def remove_rank(rank: int) -> SentenceTransformer:
        changed = copy.deepcopy(encoder)
        if rank:
            remove_directions(changed, directions[:rank])
        return changed

    scores_by_rank: dict[int, dict[str, float]] = {rank: {} for rank in ranks}
    if evaluate is not None:
        scores_by_rank = {rank: evaluate(remove_rank(rank)) for rank in ranks}
    best_rank = max(ranks, key=lambda rank: scores_by_rank[rank].get(DEVELOPMENT, 0.0))
    averages = {rank: round(scores[DEVELOPMENT], 2) for rank, scores in scores_by_rank.items() if scores}
    logger.info("Removed %d directions of the language subspace (scores by rank: %s)", best_rank, averages or "none")
    with atomic_folder(target) as folder:
        save_encoder(remove_rank(best_rank), folder)
        if (model / "training").exists():
            shutil.copytree(model / "training", folder / "training")
    return scores_by_rank[best_rank]


def check_ranks(pairs: Path, ranks: Sequence[int], development: bool) -> None:
    """Refuse several ranks without development tasks, and ranks above the number of languages minus one."""
    if len(ranks) > 1 and not development:
        raise EaseError(
            f"`language_ranks` {', '.join(map(str, ranks))}: a choice needs development tasks; give a single rank."
        )
    if ranks:
        check_rank(max(ranks), languages=len(distinct(open_pair_table(pairs, (LANGUAGE_COLUMN,)), LANGUAGE_COLUMN)))


def _of_language(source: pads.Dataset, language: str) -> Iterator[str]:
    """Yield evenly spaced sentences of a language."""
    is_of_language = pads.field(LANGUAGE_COLUMN) == language
    step = -(-source.count_rows(filter=is_of_language) // SENTENCES_PER_LANGUAGE)
    seen = 0
    for batch in source.to_batches(columns=[SENTENCE], filter=is_of_language):
        # The first row of this batch whose number among the language's rows is a multiple of the step
        yield from batch.column(SENTENCE)[(-seen) % step :: step].to_pylist()
        seen += batch.num_rows
