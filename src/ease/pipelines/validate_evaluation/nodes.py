"""Score published checkpoints as their papers did, and compare the scores with the printed ones."""

from __future__ import annotations

import logging
from typing import Any

from pydantic import Field

from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from ease.evaluation.scoring import task_name
from ease.evaluation.sets import read_located, scorable
from ease.lazy import DataFrame
from ease.options import StrictModel
from ease.pipelines.acquire_evaluation.nodes import locate
from ease.pipelines.options import AcquireOptions, EvaluateOptions, EvaluationSetOptions, Papers
from ease.pipelines.tracked_scoring import Scoring, score_baseline
from ease.pipelines.tracking import log_table
from ease.reporting.comparison import compare_with_printed, printed_tasks
from ease.reporting.own import gather_models
from ease.reporting.published import PublishedPapers

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
    published: Papers,
) -> dict[str, Any]:
    """Locate the evaluation sets of all scores that papers print for a baseline."""
    by_baseline = _printed_references(evaluate, published)
    references = dict.fromkeys(reference for references in by_baseline.values() for reference in references)
    located = locate(tuple(references), acquire, sets, tasks)
    if not scorable(tuple(references), read_located(located)):
        raise EaseError(
            f"None of the evaluation sets of the papers' scores can be read in {sets.folder}: add "
            "`acquire_evaluation.fetch=true` to --params to download them, or name their folder as "
            "`acquire_evaluation.folder`."
        )
    return located


def score_printed(
    evaluation_data: dict[str, Any],
    tasks: dict[str, dict[str, Any]],
    evaluate: EvaluateOptions,
    published: Papers,
    encoding: EncodingOptions,
) -> list[dict[str, Any]]:
    """Score each baseline for which a paper prints scores, on the tasks of these scores."""
    located = read_located(evaluation_data)
    rows = []
    for name, references in _printed_references(evaluate, published).items():
        rows += score_baseline(name, evaluate.baselines[name], Scoring(references, located, tasks, encoding))
    return rows


def _printed_references(evaluate: EvaluateOptions, published: Papers) -> dict[str, tuple[str, ...]]:
    """Return the tasks of each baseline's printed scores, restricted to its own `tasks`."""
    papers = PublishedPapers.model_validate(published)
    references = {}
    for name, baseline in evaluate.baselines.items():
        (model,) = gather_models([baseline.about(name)])
        printed = printed_tasks(papers, model)
        if baseline.tasks is not None:
            printed = tuple(reference for reference in baseline.tasks if task_name(reference) in printed)
        if printed:
            references[name] = printed
    if not references:
        raise EaseError(
            "No baseline of `evaluate.baselines` is a model of conf/base/published: run with --env=paper, whose "
            "baselines are the papers' published checkpoints, or configure one."
        )
    return references


def name_differences(scores: list[dict[str, Any]], published: Papers, options: ValidationOptions) -> DataFrame:
    """Compare the scores with the printed ones, as a table, in MLflow, and in the log where they differ."""
    table = compare_with_printed(PublishedPapers.model_validate(published), gather_models(scores))
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
        len(differing),
        len(measured),
        options.tolerance,
        len(table) - len(measured),
    )
    return table
