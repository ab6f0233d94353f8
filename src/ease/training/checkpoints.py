"""Atomic checkpoints with exact resume, as safetensors and JSON."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, load_model, save_file, save_model
from torch import Tensor

from ease.evaluation.scoring import task_options
from ease.evaluation.tasks import get_task
from ease.io.atomic import atomic_folder, remove_folder
from ease.io.files import hash_contents
from ease.io.names import RUN_FILE
from ease.io.result_versions import TRAINING
from ease.methods.components.distributed import gather, process_count, process_rank
from ease.training.accelerator import uses_gpu
from ease.training.model import TrainingModel
from ease.training.optimizers import Optimizers
from ease.training.options import TrainingJob, TrainingOptions

logger = logging.getLogger(__name__)


class Checkpoints:
    """The latest checkpoint of one training, identified by its fingerprint."""

    def __init__(self, folder: Path, fingerprint: str, options: TrainingOptions) -> None:
        """Use a folder, which need not exist."""
        self._folder = folder
        self._fingerprint = fingerprint
        self._seconds, self._share = options.checkpoint_seconds, options.checkpoint_share
        self._next = time.monotonic() + self._seconds

    @property
    def due(self) -> bool:
        """Whether to write one now: some seconds after the last one, or later if they would take too much time."""
        return time.monotonic() >= self._next

    def save(self, step: int, model: TrainingModel, optimizers: Optimizers, state: dict[str, Any]) -> None:
        """Write a checkpoint in the first process and remove older ones; every process must call this."""
        random_states = _random_states(next(model.parameters()).device)
        if process_rank():
            return
        began = time.monotonic()
        with atomic_folder(self._folder / f"step-{step:08d}") as aside:
            save_model(model, str(aside / "model.safetensors"))
            tensors, scalars = _flatten(optimizers)
            save_file(tensors, aside / "optimizers.safetensors")
            save_file(random_states, aside / "random.safetensors")
            text = json.dumps({**state, "step": step, "fingerprint": self._fingerprint, "scalars": scalars})
            (aside / "state.json").write_text(text, encoding="utf-8")
        ended = time.monotonic()
        self._next = ended + max(self._seconds, (1 / self._share - 1) * (ended - began))
        for older in self._found():
            if older.name != f"step-{step:08d}":
                remove_folder(older)

    def latest(self) -> dict[str, Any] | None:
        """Return the state and `step` of this training's latest checkpoint, or None."""
        found = self._found()
        for folder in reversed(found):
            state: dict[str, Any] = json.loads((folder / "state.json").read_text(encoding="utf-8"))
            if state["fingerprint"] == self._fingerprint:
                return state
        if found:
            logger.warning(
                "%s belongs to a training with other data, options, libraries or code, or on another device: starting "
                "from the beginning",
                found[-1],
            )
        return None

    def restore(self, state: dict[str, Any], model: TrainingModel, optimizers: Optimizers) -> None:
        """Restore a checkpoint's tensors and this process's random state."""
        folder = self._folder / f"step-{state['step']:08d}"
        load_model(model, str(folder / "model.safetensors"))
        _unflatten(optimizers, load_file(folder / "optimizers.safetensors"), state["scalars"])
        random_states = load_file(folder / "random.safetensors")
        torch.set_rng_state(random_states["cpu"][process_rank()].clone())  # a view of row 1 is refused
        device = next(model.parameters()).device
        if device.type == "cuda":
            torch.cuda.set_rng_state(random_states["cuda"][process_rank()].clone(), device)

    def _found(self) -> list[Path]:
        return sorted(self._folder.glob("step-*"))


def _random_states(device: torch.device) -> dict[str, Tensor]:
    """Return the random states of all processes by generator, (processes, bytes)."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return {name: gather(state.to(device)).cpu().view(process_count(), -1) for name, state in states.items()}


def _flatten(optimizers: Optimizers) -> tuple[dict[str, Tensor], dict[str, float]]:
    """Return the tensors and numbers of the optimizers' states by name."""
    values = {
        f"{name}/{index}/{key}": value
        for name, optimizer in optimizers.by_name.items()
        for index, state in optimizer.state_dict()["state"].items()
        for key, value in state.items()
    }
    tensors = {name: value.contiguous() for name, value in values.items() if isinstance(value, Tensor)}
    return tensors, {name: value for name, value in values.items() if name not in tensors}


def _unflatten(optimizers: Optimizers, tensors: dict[str, Tensor], scalars: dict[str, float]) -> None:
    """Restore the optimizers' states."""
    states: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in optimizers.by_name}
    for path, value in {**tensors, **scalars}.items():
        name, index, key = path.split("/")
        states[name].setdefault(int(index), {})[key] = value
    for name, optimizer in optimizers.by_name.items():
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": states[name], "param_groups": groups})


WITHOUT_EFFECT = {"checkpoint_seconds", "checkpoint_share", "entity_memory", "threads", "processes"}
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
    described: dict[str, Any] = {
        "code": TRAINING,
        "libraries": [torch.__version__, transformers.__version__],
        "pairs": _contents(job.pairs),
        "encoder": _encoder(job.encoder),
        "vocabulary": _contents(job.vocabulary),
        "table": _contents(job.table),
        "pooling": job.pooling,
        "method": job.method,
        "method_options": method_options,
        "development": {name: _development(name, options) for name, options in job.development.items()},
        "training": job.training.model_dump(exclude={*WITHOUT_EFFECT, "teacher", "guide"}),
        **{
            role: {
                **options.model_dump(exclude={"encoder", "batch_size", "cache"}),
                "encoder": _encoder(options.located(job.encoder)),
            }
            for role, options in job.training.frozen.items()
        },
        # Decided by encoder, method and device
        **({"automatic_on_gpu": uses_gpu(job.training)} if job.training.packed == "auto" else {}),
        "processes": processes,
    }
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def _development(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a development task by its options and the contents of its files, whatever else is in their folder."""
    read = get_task(name).files(task_options(name, {name: options}))
    contents = {subset: [_contents(file) for file in files] for subset, files in read.items()}
    return {**options, "path": None, "files": contents}


def _encoder(name: str) -> str:
    """Hash what a saved encoder computes from; return a hub name unchanged."""
    folder = Path(name)
    if not folder.is_dir():
        return _contents(name) or ""
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    listed = [f"{place} {_encoder_file(file)}" for place, file in sorted(files.items()) if place not in NOTES]
    return hashlib.sha256("\n".join(listed).encode()).hexdigest()


def _encoder_file(file: Path) -> str:
    """Hash a file of an encoder; encoding sets a tokenizer's padding and truncation, which change nothing."""
    if file.name != "tokenizer.json":
        return hash_contents(file)
    described = {**json.loads(file.read_text(encoding="utf-8")), "padding": None, "truncation": None}
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def _contents(path: str | Path | None) -> str | None:
    """Hash a file or folder; return the name of an encoder on the hub unchanged."""
    if path is None or not Path(path).exists():
        return path if path is None else str(path)
    return hash_contents(Path(path))
