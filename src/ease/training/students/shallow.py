"""Shallow students: the first layers of a teacher's transformer with the teacher's pooling.

References:
    Sanh et al. 2019 (DistilBERT) and Sajjad et al. 2023 (On the effect of dropping layers of pre-trained transformer
    models): a student starts from layers of its teacher.
"""

from __future__ import annotations

import copy
from typing import Any

from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import nn

from ease.errors import EaseError


def shallow_student(teacher: SentenceTransformer, layers: int) -> SentenceTransformer:
    """Return a copy of a teacher with its first layers only.

    Args:
        teacher: Begins with a transformer; not changed.
        layers: Number of layers to keep, below the teacher's.

    Raises:
        EaseError: If the teacher is not a transformer, or has too few layers.
    """
    if not isinstance(teacher[0], Transformer):
        raise EaseError(
            f"A shallow student needs a transformer as `teacher`, not {type(teacher[0]).__name__}: choose another one."
        )
    student = copy.deepcopy(teacher)
    model: Any = student[0].model
    count = int(model.config.num_hidden_layers)
    if count == 1:
        raise EaseError("The teacher has one layer, and a shallow student has fewer: give another `teacher`.")
    if layers >= count:
        raise EaseError(
            f"`layers` {layers}: the teacher has {count} layers, so give 1 to {count - 1}, or another `teacher`."
        )
    stacks = [
        module for module in model.modules() if isinstance(module, nn.ModuleList) and len(module) == count
    ]
    if len(stacks) != 1:
        raise EaseError(
            f"{type(model).__name__} has {len(stacks)} lists of {count} layers: choose a teacher with one, such as "
            "BERT."
        )
    del stacks[0][layers:]
    model.config.num_hidden_layers = layers
    if getattr(model.config, "layer_types", None):
        model.config.layer_types = model.config.layer_types[:layers]
    return student
