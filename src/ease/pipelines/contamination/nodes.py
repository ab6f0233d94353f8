"""Find test texts among the training sentences, and score encoders without them."""

from __future__ import annotations

import logging
from typing import Any

from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from ease.evaluation.contamination import ContaminationOptions, clean_scores, find_matches, read_task_texts
from ease.evaluation.scoring import select_tasks
from ease.evaluation.sets import located_parameters, read_located, scorable
from ease.lazy import DataFrame, Table, pd
from ease.options import Rows
from ease.pipelines.options import EvaluateOptions
from ease.pipelines.setting import Setting
from ease.pipelines.tracked_training import require_pairs
from ease.pipelines.tracking import log_table
from ease.reporting.markdown_tables import format_table

logger = logging.getLogger(__name__)


def find_contaminated_items(
    training_pairs: Table | None,
    evaluation_data: dict[str, Any],
    tasks: dict[str, dict[str, Any]],
    setting: Setting,
    evaluate: EvaluateOptions,
    contamination: ContaminationOptions,
) -> tuple[Rows, Rows]:
    """Find the test items of the setting's test tasks whose texts are among its training sentences.

    Returns:
        One row per score, with the numbers of its contaminated items and the version of the data; and one row per test
        text that was found, with its best match.
    """
    pairs = require_pairs(training_pairs, setting)
    located = read_located(evaluation_data)
    references = scorable(evaluate.references(setting.test_tasks, tasks), located)
    task_texts, faults = read_task_texts(select_tasks(references, located_parameters(tasks, located)).values())
    for task, reason in faults.items():
        logger.warning("Contamination of the task %s cannot be found: %s", task, reason)
    # Tasks share texts, each of which is searched once.
    texts = list(dict.fromkeys(text for subset in task_texts for item in subset.texts for text in item))
    matches = find_matches(texts, pairs, contamination)
    rows = [
        {
            "task": subset.task,
            "subset": subset.subset,
            "metric": subset.metric,
            "data": located[subset.task].version(subset.subset),
            "items": len(subset.texts),
            "rows": subset.contaminated(matches),
        }
        for subset in task_texts
    ]
    logger.info(
        "%d of %d distinct test texts are among the training sentences of %s", len(matches), len(texts), setting.name
    )
    return rows, [{"text": text, **match._asdict(), "sentences": count} for text, (match, count) in matches.items()]


def score_clean_items(contaminated: Rows, encoding: EncodingOptions, baselines: Rows, **scores: Rows) -> DataFrame:
    """Score the encoders on the items that are not contaminated, beside their scores on all items."""
    score_rows = [{"method": method, **row} for method, rows in scores.items() for row in rows] + baselines
    rows = Rows()
    if encoding.cache:
        rows = clean_scores(score_rows, contaminated, encoding.cache)
    if not rows:
        raise EaseError(
            "No encoder has scores whose items are kept: run the pipeline `evaluate` with `encoding.cache`, then this "
            "one."
        )
    table = pd.DataFrame(rows)
    narrow = table.drop(columns=["model", "low", "high"])
    logger.info("Scores without the contaminated items, in points of 100:\n%s", format_table(narrow))
    log_table(table, "clean_scores")
    return table
