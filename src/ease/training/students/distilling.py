"""Training of a student: sentences, teacher embeddings, initial weights, loop and saved encoder."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import embedding_dimension, load_encoder, save_encoder
from ease.encoders.encoding import encode_with, fingerprint
from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from ease.io.atomic import atomic_folder, write_text_atomically
from ease.io.device import best_device
from ease.io.files import hash_contents, read_json
from ease.io.result_versions import code_version
from ease.training.progress import Report
from ease.training.students.learning import History, learn
from ease.training.students.options import ShallowOptions, StaticOptions
from ease.training.students.shallow import shallow_student
from ease.training.students.static import fast_tokenizer, save_static, static_student
from ease.training.students.targets import (
    Targets,
    blocks,
    check_dimensions,
    open_sentences,
    open_targets,
    principal_directions,
    write_sentences,
    write_targets,
)

CHECKPOINT, RESULT = "checkpoint.safetensors", "result.json"


class Distilled(NamedTuple):
    """A finished student."""

    model: Path
    """Its folder, in the format of sentence-transformers"""
    history: History
    """Reported values, each with its `step`"""
    dimension: int
    sentences: int


def distill_student(
    teacher: str,
    sentences: Iterable[str],
    options: StaticOptions | ShallowOptions,
    folder: Path,
    *,
    encoding: EncodingOptions | None = None,
    card: Callable[[int, int], str] | None = None,
    report: Report | None = None,
) -> Distilled:
    """Train a student of an encoder, resume an interrupted training, or return the result of a finished one.

    Args:
        teacher: A hub name or a folder.
        sentences: Distinct training sentences, in a fixed order.
        options: Kind, size and training of the student.
        folder: Work folder, locked by the caller.
        encoding: Batch size and cache of the teacher's embeddings. Default: a cache in the work folder.
        card: Returns the model card, given the dimension and the number of sentences.
        report: Called with a step and its values.

    Raises:
        EaseError: If the teacher does not load or fit the options, or there is no sentence.
    """
    device = best_device()
    loaded = load_encoder(teacher).to(device)
    _check(loaded, options)
    file = folder / "sentences.arrow"
    write_sentences(sentences, file)
    key = _key(loaded, file, options, encoding or EncodingOptions())
    finished = read_json(folder / RESULT)
    if finished and finished["key"] == key and (folder / "model").is_dir():
        return Distilled(
            folder / "model", *(finished[name] for name in ("history", "dimension", "sentences"))
        )
    _forget_others(folder, key)
    texts = open_sentences(file)
    embeddings = _targets(folder / f"targets-{key}.npy", loaded, teacher, texts, encoding)
    student, directions = _start(loaded, embeddings, texts, options)
    checkpoint = folder / f"{key}-{CHECKPOINT}"
    history = learn(
        student.to(device),
        texts,
        embeddings,
        options.learning,
        checkpoint,
        directions=directions,
        matryoshka=options.matryoshka,
        seed=options.seed,
        report=report,
    )
    made = Distilled(folder / "model", history, embedding_dimension(student), len(texts))
    # Otherwise a stop between the two writes would leave the result of an earlier student beside this model.
    (folder / RESULT).unlink(missing_ok=True)
    with atomic_folder(made.model) as aside:
        text = None if card is None else card(made.dimension, made.sentences)
        if isinstance(options, StaticOptions):
            save_static(student, aside, text, int8=options.int8)
        else:
            save_encoder(student, aside, text)
    about = {"key": key, **made._asdict(), "model": made.model.name}
    write_text_atomically(folder / RESULT, json.dumps(about))
    _forget_others(folder, "")
    shutil.rmtree(folder / "teacher", ignore_errors=True)
    return made


def _targets(
    file: Path,
    teacher: SentenceTransformer,
    name: str,
    sentences: pa.ChunkedArray,
    encoding: EncodingOptions | None,
) -> Targets:
    """Map the teacher's embeddings into memory; compute them if the file is missing."""
    if not file.exists():
        options = encoding or EncodingOptions()
        if options.cache is None:
            options = options.model_copy(update={"cache": file.parent / "teacher"})
        write_targets(encode_with(teacher, options, "teacher", name), sentences, file)
    return open_targets(file)


def _start(
    teacher: SentenceTransformer,
    embeddings: Targets,
    sentences: pa.ChunkedArray,
    options: StaticOptions | ShallowOptions,
) -> tuple[SentenceTransformer, NDArray[np.float64] | None]:
    """Return the untrained student, and the directions of the teacher's space that it is trained to reproduce."""
    if isinstance(options, ShallowOptions):
        return shallow_student(teacher, options.layers), None
    directions = principal_directions(embeddings, options.dimension)
    return static_student(teacher, directions, blocks(sentences), options.frequency_scale), directions


def _check(teacher: SentenceTransformer, options: StaticOptions | ShallowOptions) -> None:
    """Refuse options that do not fit the teacher before the teacher encodes the sentences."""
    dimension = embedding_dimension(teacher)
    if isinstance(options, StaticOptions):
        fast_tokenizer(teacher)
        if (options.dimension or 0) > dimension:
            raise EaseError(
                f"`dimension` {options.dimension} is above the teacher's {dimension}: set it to {dimension} at most, "
                "or null."
            )
        dimension = options.dimension or dimension
    else:
        shallow_student(teacher, options.layers)
    check_dimensions(options.matryoshka, dimension)


def _key(
    teacher: SentenceTransformer,
    sentences: Path,
    options: StaticOptions | ShallowOptions,
    encoding: EncodingOptions,
) -> str:
    """Hash everything that a student depends on."""
    described = {
        "teacher": fingerprint(teacher, encoding.precision),
        "sentences": hash_contents(sentences),
        "kind": type(options).__name__,
        "options": options.model_dump(
            mode="json",
            exclude={"teacher": True, "refining": True, "learning": {"checkpoint_seconds", "report_every"}},
        ),
        "code": code_version(),
    }
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:16]


def _forget_others(folder: Path, key: str) -> None:
    """Remove the files of students with other keys; with an empty key, of all students."""
    for file in (*folder.glob("targets-*.npy"), *folder.glob(f"*-{CHECKPOINT}")):
        if not key or key not in file.name:
            file.unlink()
