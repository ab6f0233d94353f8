"""The model card of a training's encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ease.encoders.check import start_of
from ease.encoders.encoder import embedding_dimension
from ease.encoders.model_card import model_card
from ease.training.inputs import has_hard_negatives
from ease.training.model import TrainingModel
from ease.training.options import TrainingJob


def training_card(
    job: TrainingJob,
    model: TrainingModel,
    best_step: int,
    scores: Mapping[str, float],
    start_scores: Mapping[str, float],
) -> str | None:
    """Return the card of a trained encoder; None if the job asks for none.

    Args:
        job: The training.
        model: Its model.
        best_step: The step of the kept encoder.
        scores: Its development scores.
        start_scores: Those of the encoder before the training.
    """
    if job.card is None:
        return None
    negatives = has_hard_negatives(job.pairs) and getattr(job.method_options, "hard_negatives", True)
    summaries = (model.method.summary, model.method.negatives_summary if negatives else "")
    options = job.method_options.model_dump()
    return model_card(
        job.card,
        method=job.method,
        summary=" ".join(filter(None, summaries)),
        parameters={
            "pooling": job.pooling,
            "method": {
                name: value for name, value in options.items() if negatives or "hard_negative" not in name
            },
            "training": _loop_parameters(job),
        },
        scores=scores,
        start_scores=start_scores,
        embedding=f"{embedding_dimension(model.encoder)} dimensions, kept after step {best_step}.",
    )


def _loop_parameters(job: TrainingJob) -> dict[str, Any]:
    """Return the loop's parameters, with teacher and guide if there are some, without paths of this machine."""
    parameters = job.training.model_dump(exclude={"teacher", "guide"})
    for role, options in (("teacher", job.training.teacher), ("guide", job.training.guide)):
        if options.encoder is not None:
            described = options.model_dump(exclude={"cache", "batch_size"})
            parameters[role] = {**described, "encoder": start_of(options.located(job.encoder))}
    return parameters
