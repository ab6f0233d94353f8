"""Compare the scores of published checkpoints with those that their papers print."""

from __future__ import annotations

import logging
from typing import Any

import pandas as pd
from kedro.pipeline import Pipeline
from pydantic import Field

from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from ease.evaluation.scoring import task_name
from ease.evaluation.sets import read_located
from ease.io.models import StrictModel
from ease.pipelines.acquire import AcquireOptions
from ease.pipelines.acquire_evaluation.nodes import EvaluationSetOptions, locate
from ease.pipelines.evaluate import EvaluateOptions, score_baseline
from ease.pipelines.mlflow_runs import log_table
from ease.pipelines.wiring import namespaced, step
from ease.reporting.comparison import compare_with_printed, printed_tasks
from ease.reporting.own import gather_models
from ease.reporting.published import Published

logger = logging.getLogger(__name__)


class ValidationOptions(StrictModel):
    """Tolerance of the comparison."""

    tolerance: float = Field(
        0.3, ge=0, description="points by which a score may differ from the printed one without being logged"
    )


def locate_printed_sets(
    acquire: AcquireOptions,
    sets: EvaluationSetOptions,
    tasks: dict[str, dict[str, Any]],
    evaluate: EvaluateOptions,
    published: Published,
) -> dict[str, Any]:
    """Locate the evaluation sets of all figures that are printed for a baseline."""
    references = dict.fromkeys(task for own in _printed(evaluate, published).values() for task in own)
    return locate(tuple(references), acquire, sets, tasks)


def score_printed(
    evaluation_data: dict[str, Any],
    tasks: dict[str, dict[str, Any]],
    evaluate: EvaluateOptions,
    published: Published,
    encoding: EncodingOptions,
) -> list[dict[str, Any]]:
    """Score each baseline for which a paper prints scores, on the tasks of these scores."""
    located = read_located(evaluation_data)
    return [
        row
        for name, own in _printed(evaluate, published).items()
        for row in score_baseline(name, evaluate.baselines[name], own, located, tasks, encoding)
    ]


def _printed(evaluate: EvaluateOptions, published: Published) -> dict[str, tuple[str, ...]]:
    """Return, for each baseline with printed scores, the tasks of these scores that the baseline is scored on."""
    found = {}
    for name, baseline in evaluate.baselines.items():
        (model,) = gather_models([baseline.about(name)])
        printed = printed_tasks(published, model)
        if baseline.tasks is not None:
            printed = tuple(reference for reference in baseline.tasks if task_name(reference) in printed)
        if printed:
            found[name] = printed
    if not found:
        raise EaseError(
            "No baseline of `evaluate.baselines` is a model of `published`: run with --env=paper, whose baselines are "
            "the papers' published checkpoints, or configure one."
        )
    return found


def name_differences(
    scores: list[dict[str, Any]], published: Published, options: ValidationOptions
) -> pd.DataFrame:
    """Compare the scores with the printed ones, as a table, in MLflow, and in the log where they differ."""
    table = compare_with_printed(published, gather_models(scores))
    log_table(table, "validate_evaluation")
    measured = table.dropna(subset=["difference"])
    differing = measured[measured["difference"].abs() > options.tolerance]
    for row in differing.to_dict("records"):
        logger.warning(
            "%(paper)s, table %(table)s, %(row)s (%(baseline)s), %(column)s: %(here).2f here, %(printed).2f printed "
            "(%(difference)+.2f)",
            row,
        )
    logger.info(
        "%d of %d printed scores differ by more than %s points; %d could not be measured",
        *(len(differing), len(measured), options.tolerance, len(table) - len(measured)),
    )
    return table


def create_pipeline() -> Pipeline:
    """Create the comparison of the baselines' scores with the papers' printed ones."""
    sets, options = "params:acquire_evaluation", "params:validate_evaluation"
    nodes = [
        step(locate_printed_sets, "evaluation_data", tags="acquire_evaluation", sets=sets),
        step(score_printed, "scores", tags="evaluate"),
        step(name_differences, "differences", tags="report", options=options),
    ]
    return namespaced(nodes, "validation")
