"""Distillation from Python, on sentences in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import ValidationError
from sentence_transformers import SentenceTransformer

from ease.encoders.encoder import load_encoder, save_encoder
from ease.errors import EaseError
from ease.io.locks import folder_lock, temporary_folder
from ease.io.registry import check_name
from ease.io.validation import format_validation_error
from ease.training.progress import Report
from ease.training.students.distilling import distill_student
from ease.training.students.options import ShallowOptions, StaticOptions

KINDS: dict[str, type[StaticOptions] | type[ShallowOptions]] = {
    "static": StaticOptions,
    "shallow": ShallowOptions,
}


def distill(
    teacher: str | Path | SentenceTransformer,
    sentences: Iterable[str],
    student: str = "static",
    *,
    folder: str | Path | None = None,
    report: Report | None = None,
    **options: Any,
) -> SentenceTransformer:
    """Train a small encoder to reproduce the embeddings of a large one.

    Args:
        teacher: A hub name, a folder or an object; the object is not changed.
        sentences: Training sentences; repeated sentences are used once.
        student: `static` (one vector per token; their mean is the embedding) or `shallow` (the teacher's first layers).
        folder: Folder for checkpoints and the saved student (`model`); the same call resumes an interrupted training
            there. Default: a temporary folder.
        report: Called with a step and its loss.
        options: Options of the student (`dimension`, `int8`, `layers`, `matryoshka`, `rows`, `seed`, …) and `learning`,
            a dictionary with `epochs`, `batch_size` and `learning_rate`.

    Returns:
        The student, on the CPU.

    Raises:
        EaseError: If an option is wrong, the teacher does not load or fit, or there is no sentence.

    Example:
        >>> import ease
        >>> student = ease.distill("sentence-transformers/LaBSE", sentences, dimension=256)
        >>> student.save("small")
    """
    check_name(student, list(KINDS), "student")
    kind = KINDS[student]
    try:
        validated = kind.model_validate(options)
    except ValidationError as error:
        raise EaseError(f"Options of the student: {format_validation_error(error, kind)}") from error
    with temporary_folder() as temporary:
        place = str(teacher)
        if isinstance(teacher, SentenceTransformer):
            place = str(temporary / "teacher")
            save_encoder(teacher, Path(place))
        work = temporary / "work" if folder is None else Path(folder)
        with folder_lock(work) as lock:
            texts = _drawn(_distinct(sentences), validated.rows, validated.seed)
            made = distill_student(place, texts, validated, lock.folder, report=report)
        return load_encoder(str(made.model))


def _drawn(sentences: list[str], rows: int | None, seed: int) -> list[str]:
    """Return at most `rows` sentences, drawn by the seed, in their order.

    Raises:
        EaseError: If there is no sentence.
    """
    if not sentences:
        raise EaseError("`sentences` is empty: give texts.")
    if rows is None or rows >= len(sentences):
        return sentences
    chosen = np.random.default_rng(seed).choice(len(sentences), rows, replace=False)
    return [sentences[place] for place in sorted(chosen)]


def _distinct(sentences: Iterable[str]) -> list[str]:
    """Return the distinct sentences in their order."""
    if isinstance(sentences, str):
        raise EaseError("`sentences` is a single text: give a list of texts.")
    if isinstance(sentences, Mapping) or hasattr(sentences, "columns") or hasattr(sentences, "column_names"):
        raise EaseError('`sentences` is a table: give its column of texts, such as `table["sentence"]`.')
    if isinstance(sentences, pa.Array | pa.ChunkedArray):
        sentences = sentences.to_pylist()
    return list(dict.fromkeys(map(_text, sentences)))


def _text(sentence: object) -> str:
    if not isinstance(sentence, str):
        raise EaseError(f"`sentences` holds {sentence!r} ({type(sentence).__name__}): give texts.")
    try:
        sentence.encode()
    except UnicodeEncodeError as error:
        raise EaseError(
            f"`sentences` holds {sentence!a}, which UTF-8 cannot write: {error.reason}. Remove these characters."
        ) from None
    return sentence
