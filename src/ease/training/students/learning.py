"""The loop that trains a student on its teacher's embeddings, with checkpoints for exact resume."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn import functional

from ease.io.atomic import atomic_path
from ease.training.batches import make_ahead
from ease.training.checkpoints import Pace
from ease.training.prepared_pairs import default_prompt
from ease.training.progress import Report
from ease.training.students.options import LearningOptions
from ease.training.students.targets import Targets

History = list[dict[str, float]]


def cosine_distance(student: Tensor, teacher: Tensor, dimensions: Sequence[int | None]) -> Tensor:
    """Return 1 minus the cosine between a student's and its teacher's embeddings, averaged over numbers of dimensions.

    Args:
        student: Shape (n, d).
        teacher: Shape (n, d).
        dimensions: Numbers of first dimensions; None: all.
    """
    distances = [
        1 - functional.cosine_similarity(student[:, :count], teacher[:, :count]) for count in dimensions
    ]
    return torch.stack(distances).mean()


def learn(
    student: SentenceTransformer,
    sentences: pa.ChunkedArray,
    targets: Targets,
    options: LearningOptions,
    checkpoint: Path,
    *,
    directions: NDArray[np.float64] | None = None,
    matryoshka: Sequence[int] = (),
    seed: int = 0,
    report: Report | None = None,
) -> History:
    """Train a student in place to reproduce its teacher's embeddings; resume from a checkpoint.

    Dropout is off, so that the same sentences in the same order give the same student.

    Args:
        student: The encoder to train, on the device on which it computes.
        sentences: The training sentences.
        targets: The teacher's embeddings of them, (sentences, dimension).
        options: Steps and learning rate.
        checkpoint: The file of the checkpoint; the caller removes it.
        directions: Directions of the teacher's space to reproduce, (dimension, kept); None: the space itself.
        matryoshka: Numbers of first dimensions at which the loss is also computed.
        seed: Seed of the order of the sentences.
        report: Called with a step and its values.

    Returns:
        The reported values, each with its `step`.
    """
    steps = options.epochs * -(-len(sentences) // options.batch_size)
    optimizer = torch.optim.Adam(student.parameters(), lr=options.learning_rate)
    projection = None if directions is None else torch.tensor(directions.copy(), dtype=torch.float32)
    step, history, kept = _restore(checkpoint, student, optimizer)
    losses: list[float | Tensor] = [*kept]  # tensors, so that a GPU is asked only for a report
    student.eval()
    pace = Pace(options.checkpoint_seconds)
    rows = _remaining_rows(len(sentences), options, seed, step)
    inputs = _inputs(student, sentences, targets, projection, rows)
    with closing(make_ahead(inputs, student.device)) as batches:
        for features, teacher in batches:
            for group in optimizer.param_groups:
                group["lr"] = options.learning_rate * (1 - step / steps)
            embeddings = student(features)["sentence_embedding"]
            loss = cosine_distance(embeddings, teacher, (None, *matryoshka))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            losses.append(loss.detach())
            if step % options.report_every == 0 or step == steps:
                values = {"loss": float(np.mean([float(loss) for loss in losses]))}
                history.append({"step": step, **values})
                losses.clear()
                if report is not None:
                    report(step, values)
            if pace.due and step < steps:
                with pace.writing():
                    _save(checkpoint, student, optimizer, step, history, [float(loss) for loss in losses])
    return history


def _inputs(
    student: SentenceTransformer,
    sentences: pa.ChunkedArray,
    targets: Targets,
    projection: Tensor | None,
    batches: Iterator[NDArray[np.int64]],
) -> Iterator[tuple[dict[str, Any], Tensor]]:
    """Yield the student's features of each batch of rows, and the teacher's projected embeddings."""
    prompt = default_prompt(student)
    for rows in batches:
        texts = [prompt + text for text in sentences.take(pa.array(rows)).to_pylist()]
        # A mapped file is read faster in the order of its rows.
        ordered, places = np.unique(rows, return_inverse=True)
        teacher = torch.from_numpy(targets[ordered][places].astype(np.float32))
        yield student.preprocess(texts), teacher if projection is None else teacher @ projection


def _remaining_rows(
    count: int, options: LearningOptions, seed: int, done: int
) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of each remaining step; each epoch has its own seeded order."""
    a_pass = -(-count // options.batch_size)
    for epoch in range(done // a_pass, options.epochs):
        order = np.random.default_rng([seed, epoch]).permutation(count)
        for number in range(done % a_pass if epoch == done // a_pass else 0, a_pass):
            yield order[number * options.batch_size : (number + 1) * options.batch_size]


def _save(
    file: Path,
    student: SentenceTransformer,
    optimizer: torch.optim.Adam,
    step: int,
    history: History,
    losses: list[float],
) -> None:
    """Write the student, Adam's state of each parameter, and the reported values."""
    tensors = {f"student/{name}": tensor.clone() for name, tensor in student.state_dict().items()}
    for parameter, state in optimizer.state_dict()["state"].items():
        tensors |= {f"{parameter}/{name}": tensor.clone() for name, tensor in state.items()}
    about = {"step": step, "history": history, "losses": losses}
    with atomic_path(file) as partial:
        save_file(tensors, partial, {"about": json.dumps(about)})


def _restore(
    file: Path, student: SentenceTransformer, optimizer: torch.optim.Adam
) -> tuple[int, History, list[float]]:
    """Load a checkpoint, if there is one; return the step, the reported values and the losses since the last report."""
    if not file.exists():
        return 0, [], []
    parts: dict[str, dict[str, Tensor]] = {}
    with safe_open(file, "pt") as stored:
        about = json.loads(stored.metadata()["about"])
        for key in stored.keys():
            part, _, name = key.partition("/")
            parts.setdefault(part, {})[name] = stored.get_tensor(key)
    student.load_state_dict(parts.pop("student"))
    state = {int(parameter): values for parameter, values in parts.items()}
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
    return about["step"], about["history"], about["losses"]
