"""Parameters of a training that depend on how many pairs there are."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ease.encoders.options import RANDOM
from ease.pipelines.encoder_defaults import DURATION, EncoderDefaults
from ease.pipelines.recipe import Recipe
from ease.training.options import START_ENCODER

logger = logging.getLogger(__name__)

BATCHES = 20
"""Minimum number of batches in an epoch; smaller batches are drawn from fewer pairs."""

STEPS, EPOCHS = 400, 10
"""Few pairs are passed over until there are 400 steps, at most 10 times."""

EVALUATIONS = 8
"""Evaluations of a training that choose the checkpoint"""


def fit_recipe(
    recipe: Recipe, pairs: int, encoder: str, defaults: EncoderDefaults, companions: Sequence[str]
) -> Recipe:
    """Choose the parameters that the recipe leaves null by the number of pairs, and log them.

    Args:
        recipe: The configured recipe; given values stay.
        pairs: Number of training pairs.
        encoder: Name of the start encoder; one with random weights knows nothing that a teacher could keep.
        defaults: The encoder's defaults.
        companions: The languages that the start teaches: it would hold back the one that it does not know.
    """
    training, usual = dict(recipe.training), recipe.complete(encoder, defaults).training
    chosen: dict[str, object] = {}
    if training.get("batch_size") is None:
        chosen["batch_size"] = max(2, min(usual.batch_size, pairs // BATCHES))
    batch = int(str(chosen.get("batch_size", usual.batch_size)))
    if all(training.get(name) is None for name in DURATION) and usual.max_steps is None:
        chosen["epochs"] = max(usual.epochs, min(EPOCHS, -(-STEPS * batch // pairs)))
    if training.get("evaluate_every") is None:
        epochs = int(str(chosen.get("epochs", usual.epochs)))
        steps = usual.max_steps or epochs * pairs // batch
        chosen["evaluate_every"] = max(1, min(usual.evaluate_every, steps // EVALUATIONS))
    logger.info(
        "Chosen by %d pairs: %s", pairs, ", ".join(f"{name} {value}" for name, value in chosen.items())
    )
    teacher = training.get("teacher")
    if encoder.startswith(RANDOM) and teacher:
        chosen["teacher"] = None
        logger.info("No teacher: the start has random weights, so that no language could be lost")
    elif (
        isinstance(teacher, dict)
        and teacher.get("encoder") == START_ENCODER
        and teacher.get("languages") is None
    ):
        chosen["teacher"] = {**teacher, "languages": list(companions)}
        logger.info("The start is the teacher of the sentences of %s", ", ".join(companions))
    return recipe.model_copy(update={"training": training | chosen})
