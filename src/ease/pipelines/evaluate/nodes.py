"""Nodes of `evaluate`."""

from __future__ import annotations

import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ease.pipelines.mlflow_runs import add_scores
from ease.pipelines.setting import Setting
from ease.scoring import at_paths, encode_with, score_tasks

logger = logging.getLogger(__name__)


def score_encoder(
    encoder: Path,
    evaluation_data: dict[str, dict[str, str]],
    tasks: dict[str, dict[str, Any]],
    setting: Setting,
) -> list[dict[str, Any]]:
    """Score a saved encoder on the setting's test tasks, and add the scores to the MLflow run that trained it.

    Args:
        encoder: Folder in sentence-transformers form.
        evaluation_data: Where each task's set lies.
        tasks: Each task's options by its name.
        setting: Whose test tasks to score.
    """
    logger.info("Scoring %s on %s", encoder, ", ".join(setting.test_tasks))
    scores = score_tasks(encode_with(encoder), setting.test_tasks, at_paths(tasks, evaluation_data))
    add_scores(encoder, scores)
    return [asdict(score) for score in scores]
