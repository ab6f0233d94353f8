"""Batch size and length of a training run that suit the number of pairs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from ease.encoders.defaults import DURATION, EncoderDefaults
from ease.encoders.options import RANDOM
from ease.pipelines.recipe import Recipe
from ease.training.options import START_ENCODER

logger = logging.getLogger(__name__)

BATCHES = 20
"""Minimum number of batches in an epoch; smaller batches are drawn from fewer pairs."""
STEPS = 400
"""Number of steps: most of the gain, for half an hour of a CPU (docs/your_language.md)"""
EPOCHS = 10
"""Maximum number of times that few pairs are repeated"""
EVALUATIONS = 8
"""Evaluations per training run, from which the checkpoint is chosen"""


def fit_recipe(
    recipe: Recipe, pairs: int, encoder: str, defaults: EncoderDefaults, companions: Sequence[str]
) -> Recipe:
    """Choose the parameters that the recipe leaves null by the number of pairs, and log them."""
    training = dict(recipe.training)
    default = recipe.complete(encoder, defaults).training
    fitted: dict[str, Any] = {}
    batch_size = default.batch_size
    if training.get("batch_size") is None:
        batch_size = max(2, min(batch_size, pairs // BATCHES))
        fitted["batch_size"] = batch_size
    steps = default.max_steps or default.epochs * pairs // batch_size
    if default.max_steps is None and all(training.get(name) is None for name in DURATION):
        steps = max(1, min(STEPS, EPOCHS * pairs // batch_size))
        fitted["max_steps"] = steps
    if training.get("evaluate_every") is None:
        fitted["evaluate_every"] = max(1, min(default.evaluate_every, steps // EVALUATIONS))
    if fitted:
        logger.info("Chosen by %d pairs: %s", pairs, fitted)
    teacher = training.get("teacher")
    if encoder.startswith(RANDOM) and teacher:
        fitted["teacher"] = None
        logger.info("No teacher: the starting encoder has random weights, so there is no language to lose")
    elif isinstance(teacher, dict) and teacher.get("encoder") == START_ENCODER and teacher.get("languages") is None:
        # The teacher would hold back the language that it does not know.
        fitted["teacher"] = {**teacher, "languages": list(companions)}
        logger.info("The starting encoder is the teacher of the sentences of %s", ", ".join(companions))
    return recipe.model_copy(update={"training": training | fitted})
