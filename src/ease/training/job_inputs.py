"""Files that a training makes of its inputs: prepared pairs, and the embeddings of its teacher and guide."""

from __future__ import annotations

import shutil

import numpy as np
from accelerate import Accelerator
from numpy.typing import NDArray

from ease.encoders.encoder import embedding_dimension
from ease.methods.components.distributed import process_rank
from ease.training.guide import Guide, map_guide
from ease.training.model import TrainingModel
from ease.training.options import TrainingJob
from ease.training.prepared_pairs import open_pairs, prepare_pairs
from ease.training.teacher_embeddings import Embeddings, frozen_embeddings, teacher_cache, teacher_embeddings

PREPARED, TEACHER, GUIDE = "pairs-{}.bin", "teacher-{}.npy", "guide-{}.npy"
"""Names of the files of prepared pairs and of the embeddings of teacher and guide in the work folder"""


def embed_by_teacher(
    job: TrainingJob, model: TrainingModel, fingerprint: str, accelerator: Accelerator
) -> Embeddings | None:
    """Return the teacher's embeddings of the sentences; None without a teacher."""
    if model.teacher is None:
        return None
    place, dimension = job.folder / TEACHER.format(fingerprint[:16]), embedding_dimension(model.encoder)
    return teacher_embeddings(job.pairs, model.teacher, job.encoder, dimension, place, accelerator)


def prepare(
    job: TrainingJob, model: TrainingModel, fingerprint: str, accelerator: Accelerator
) -> NDArray[np.void]:
    """Map the prepared pairs, which the first process writes if they are missing."""
    prepared = job.folder / PREPARED.format(fingerprint[:16])
    layout = model.layout(job.training.max_tokens, job.training.batches.reads_languages)
    if not process_rank() and not prepared.exists():
        vocabulary = job.vocabulary if model.method.reads_entities else None
        derived = model.method.derived_columns(model.encoder, job.training.seed)
        prepare_pairs(job.pairs, vocabulary, model.encoder, layout, prepared, derived)
    accelerator.wait_for_everyone()
    return open_pairs(prepared, layout)


def embed_by_guide(
    job: TrainingJob,
    model: TrainingModel,
    rows: NDArray[np.void],
    fingerprint: str,
    accelerator: Accelerator,
) -> Guide | None:
    """Return the guide's embeddings of the sentences and entities; None without a guide."""
    table = model.method.table
    if job.training.guide.encoder is None or table is None:
        return None
    place = job.folder / GUIDE.format(fingerprint[:16])
    sentences = frozen_embeddings(job.pairs, job.training.guide, job.encoder, place, accelerator)
    target = job.folder / GUIDE.format("entities")
    return map_guide(sentences, rows["entity"], len(table.weight), target, accelerator)


def remove_inputs(job: TrainingJob) -> None:
    """Remove these files, and the cache of the teacher's embeddings in the work folder."""
    shutil.rmtree(teacher_cache(job.folder), ignore_errors=True)
    for pattern in (PREPARED, TEACHER, GUIDE):
        for prepared in job.folder.glob(pattern.format("*")):
            prepared.unlink()
