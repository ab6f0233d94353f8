"""Nodes of `evaluate`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mlflow

from ease.code_version import code_version
from ease.encoder_options import EncodingOptions
from ease.evaluation_sets import LocatedSet, at_paths, read_located, scorable
from ease.pipelines.evaluate.options import EvaluateOptions, all_test_tasks
from ease.pipelines.mlflow_runs import add_scores, log_scores, start_of
from ease.pipelines.setting import Setting
from ease.scoring import TaskOptions, score_tasks
from ease.tasks import Score, get_task

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

logger = logging.getLogger(__name__)

BASELINES = "baselines"
"""What stands in place of a setting where encoders are scored that nothing here has trained."""


def score_encoder(
    encoder: Path | None,
    evaluation_data: dict[str, Any],
    tasks: dict[str, dict[str, Any]],
    setting: Setting,
    evaluate: EvaluateOptions,
    encoding: EncodingOptions,
) -> list[dict[str, Any]]:
    """Score a saved encoder on the setting's test tasks, and add the scores to the MLflow run that trained it.

    Args:
        encoder: Folder in sentence-transformers form; None where no such encoder has been made, which gives no score.
        evaluation_data: Where each task's set lies.
        tasks: Each task's options by its name.
        setting: Whose test tasks to score.
        evaluate: Other tasks to score.
        encoding: Batch size and cache.
    """
    if encoder is None:
        logger.debug("An encoder of the setting %s is not trained yet: nothing to score", setting.name)
        return []
    references = evaluate.references(setting.test_tasks)
    logger.info("Scoring %s", encoder)
    located = read_located(evaluation_data)
    scores = score(encoder, references, located, tasks, encoding)
    add_scores(encoder, scores)
    about = {"setting": setting.name, "model": encoder.parent.name, **start_of(encoder)}
    return score_rows(scores, located, **about)


def score_baselines(
    evaluation_data: dict[str, Any],
    tasks: dict[str, dict[str, Any]],
    evaluate: EvaluateOptions,
    encoding: EncodingOptions,
    **settings: Setting,
) -> list[dict[str, Any]]:
    """Score the encoders that the parameters name, each in a nested MLflow run of its own.

    Args:
        evaluation_data: Where each task's set lies.
        tasks: Each task's options by its name.
        evaluate: The baselines, and other tasks than the settings' to score.
        encoding: Batch size and cache.
        settings: Whose test tasks to score.
    """
    from ease.encoder import load_encoder
    from ease.encoding import best_device

    located, rows = read_located(evaluation_data), []
    references = evaluate.references(all_test_tasks(*settings.values()))
    for baseline in evaluate.baselines.values():
        load_encoder(
            baseline.name, baseline.pooling
        )  # one that does not load is named before the others are scored
    for name, baseline in evaluate.baselines.items():
        logger.info("Scoring the baseline %s, %s", name, baseline.name)
        encoder = load_encoder(baseline.name, baseline.pooling).to(best_device())
        with mlflow.start_run(run_name=f"{BASELINES}.{name}", nested=True) as run:
            mlflow.log_params(baseline.model_dump())
            scores = score(encoder, references, located, tasks, encoding)
            log_scores(run.info.run_id, scores)
        about = {
            "setting": BASELINES,
            "method": name,
            "model": baseline.name,
            "base": baseline.name,
            "pooling": baseline.pooling or "mean",
        }
        rows += score_rows(scores, located, **about)
    return rows


def score(
    encoder: SentenceTransformer | Path,
    references: Sequence[str],
    located: Mapping[str, LocatedSet],
    tasks: TaskOptions,
    encoding: EncodingOptions,
) -> list[Score]:
    """Score an encoder on those of the named tasks whose data are there."""
    from ease.encoding import encode_with

    there = scorable(references, located)
    if not there:
        logger.warning("Nothing to score: of %s no data are there", ", ".join(references) or "no task")
    scores = score_tasks(encode_with(encoder, encoding), there, at_paths(tasks, located))
    main = [line for line in scores if line.metric == get_task(line.task).METRIC]
    told = [line for line in main if line.averaged or sum(other.task == line.task for other in main) == 1]
    for line in told:
        logger.info("%s %s: %.2f %s", line.task, line.subset, line.value, line.note)
    return scores


def score_rows(
    scores: Sequence[Score], located: Mapping[str, LocatedSet], **about: Any
) -> list[dict[str, Any]]:
    """Lay scores out as rows that say what they were made from: model, data and code."""
    return [
        {
            **about,
            **asdict(score),
            "data": located[score.task].version(score.subset),
            "code": code_version(),
        }
        for score in scores
    ]
