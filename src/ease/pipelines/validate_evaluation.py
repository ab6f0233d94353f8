"""Compare the scores of published checkpoints with those that their papers print."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pandas as pd
from kedro.pipeline import Pipeline, node, pipeline
from pydantic import Field

from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from ease.evaluation.scoring import task_name
from ease.evaluation.sets import read_located
from ease.io.models import StrictModel
from ease.pipelines.acquire.options import AcquireOptions
from ease.pipelines.acquire_evaluation.nodes import EvaluationSetOptions, locate
from ease.pipelines.evaluate.nodes import about_baseline, score_baseline
from ease.pipelines.evaluate.options import EvaluateOptions
from ease.pipelines.mlflow_runs import log_table
from ease.reporting.comparison import compare_with_printed, printed_tasks
from ease.reporting.own import OwnModel, gather_models
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
            "%s, table %s, %s (%s), %s: %.2f here, %.2f printed (%+.2f)",
            *(
                row[name]
                for name in ("paper", "table", "row", "baseline", "column", "here", "printed", "difference")
            ),
        )
    logger.info(
        "%d of %d printed scores differ by more than %s points; %d could not be measured",
        *(len(differing), len(measured), options.tolerance, len(table) - len(measured)),
    )
    return table


def _printed(evaluate: EvaluateOptions, published: Published) -> dict[str, tuple[str, ...]]:
    """Return, for each baseline with printed scores, the tasks of these scores that the baseline is scored on."""
    tasks = {name: printed_tasks(published, _model(name, evaluate)) for name in evaluate.baselines}
    chosen = {name: _restricted(own, evaluate.baselines[name].tasks) for name, own in tasks.items()}
    found = {name: own for name, own in chosen.items() if own}
    if not found:
        raise EaseError(
            "No baseline of `evaluate.baselines` is a model of `published`: run with --env=paper, whose baselines are "
            "the papers' published checkpoints, or configure one."
        )
    return found


def _restricted(printed: tuple[str, ...], own: Sequence[str] | None) -> tuple[str, ...]:
    """Return the printed tasks that a baseline's own `tasks` select; all of them if it selects none."""
    if own is None:
        return printed
    return tuple(reference for reference in own if task_name(reference) in printed)


def _model(name: str, evaluate: EvaluateOptions) -> OwnModel:
    """Return a baseline as a model without scores."""
    (model,) = gather_models([about_baseline(name, evaluate.baselines[name])])
    return model


NAMESPACE = "validation"
SHARED = (
    "acquire",
    "acquire_evaluation",
    "tasks",
    "evaluate",
    "published",
    "encoding",
    "validate_evaluation",
)


def create_pipeline() -> Pipeline:
    """Create the comparison of the baselines' scores with the papers' printed ones."""
    located = [
        f"params:{name}" for name in ("acquire", "acquire_evaluation", "tasks", "evaluate", "published")
    ]
    scored = [
        "evaluation_data",
        *(f"params:{name}" for name in ("tasks", "evaluate", "published", "encoding")),
    ]
    compared = ["scores", "params:published", "params:validate_evaluation"]
    sets = node(locate_printed_sets, located, "evaluation_data", name="locate_printed_sets")
    return pipeline(
        [
            sets.tag("acquire_evaluation"),
            node(score_printed, scored, "scores", name="score_printed", tags="evaluate"),
            node(name_differences, compared, "differences", name="name_differences", tags="report"),
        ],
        namespace=NAMESPACE,
        parameters=set(SHARED),
    )
