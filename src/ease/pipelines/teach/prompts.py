"""Choose by measurement whether the encoder to teach gets a prompt before sentences."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ease.encoders.prompts import PromptVariant, prompt_variants
from ease.evaluation.scoring import DEVELOPMENT, select_parameters
from ease.evaluation.sets import located_parameters, read_located
from ease.evaluation.tasks import TaskParameters

logger = logging.getLogger(__name__)


def choose_prompt(
    folder: Path, dev_tasks: Sequence[str], evaluation_data: dict[str, Any], tasks: TaskParameters
) -> None:
    """Save an encoder with the prompt, or without it, whichever scores higher on the development tasks.

    Training, evaluation and the delivered model then use it. An encoder without prompts is not scored.

    Args:
        folder: The encoder's folder, whose prompts are replaced in place.
        dev_tasks: Tasks, or single subsets of them, that choose the checkpoint.
        evaluation_data: Where the evaluation sets are.
        tasks: Parameters of all tasks.
    """
    from ease.encoders.encoder import load_encoder, save_encoder
    from ease.encoders.encoding import move_to_device
    from ease.training.job import development_evaluation

    encoder = load_encoder(str(folder))
    saved = PromptVariant(dict(encoder.prompts), encoder.default_prompt_name)
    variants = prompt_variants(*saved)
    located = read_located(evaluation_data)
    evaluate = development_evaluation(select_parameters(dev_tasks, located_parameters(tasks, located)))
    if len(variants) < 2 or evaluate is None:
        return
    encoder = move_to_device(encoder)
    scores = []
    for variant in variants:
        encoder.prompts, encoder.default_prompt_name = variant
        scores.append(evaluate(encoder)[DEVELOPMENT])
    # The first is without a prompt, which costs no tokens: it wins if both score the same.
    best = variants[scores.index(max(scores))]
    logger.info(
        "Prompt before sentences, by %s: none %.2f, %r %.2f; %r is used",
        ", ".join(dev_tasks),
        scores[0],
        variants[1].text,
        scores[1],
        best.text,
    )
    if best != saved:
        encoder.prompts, encoder.default_prompt_name = best
        save_encoder(encoder.cpu(), folder)
