"""Nodes of `contamination`."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ease.encoders.options import EncodingOptions
from ease.errors import EaseError
from ease.evaluation.sets import at_paths, read_located, scorable
from ease.evaluation.tasks import AVERAGE
from ease.evaluation.text_fingerprints import ContaminationOptions
from ease.io.lazy import ibis
from ease.pipelines.evaluate.options import EvaluateOptions
from ease.pipelines.mlflow_runs import log_table
from ease.pipelines.setting import Setting
from ease.reporting.markdown_tables import format_table

logger = logging.getLogger(__name__)

COLUMNS = [
    *("method", "model", "task", "subset", "metric", "items", "contaminated", "whole", "clean", "difference"),
    *("low", "high"),
]
"""Columns of the clean scores; `low` and `high` are the limits of the clean score's 95% interval."""

Rows = list[dict[str, Any]]


def find_contaminated_items(
    training_pairs: ibis.Table,
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
    from ease.evaluation.contamination import contaminated_items, find_matches, read_task_texts

    located = read_located(evaluation_data)
    references = scorable(evaluate.references(setting.test_tasks), located)
    found, failed = read_task_texts(references, at_paths(tasks, located))
    for task, reason in failed.items():
        logger.warning("Contamination of the task %s cannot be found: %s", task, reason)
    texts = list(dict.fromkeys(text for own in found for item in own.texts for text in item))
    matches = find_matches(texts, training_pairs, contamination)
    rows = []
    for own in found:
        chosen = contaminated_items(own, matches)
        about = {"task": own.task, "subset": own.subset, "metric": own.metric}
        data = located[own.task].version(own.subset)
        rows.append({**about, "data": data, "items": len(chosen), "rows": np.flatnonzero(chosen).tolist()})
    logger.info(
        "%d of %d distinct test texts are among the training sentences of %s",
        *(len(matches), len(texts), setting.name),
    )
    return rows, [
        {"text": text, **match._asdict(), "sentences": count} for text, (match, count) in matches.items()
    ]


def score_clean_items(
    contaminated: Rows, encoding: EncodingOptions, baselines: Rows, **scores: Rows
) -> pd.DataFrame:
    """Score the encoders on the items that are not contaminated, beside their scores on all items.

    Args:
        contaminated: As `find_contaminated_items` gives them.
        encoding: Its cache has the contribution of each item to each score.
        baselines: Scores of encoders that are not trained here.
        scores: Scores of the setting's encoders by their methods; empty if an encoder is not scored.

    Raises:
        EaseError: If no encoder has scores of these items.
    """
    found = {(row["task"], row["subset"], row["metric"]): row for row in contaminated}
    rows = [{"method": method, **row} for method, own in scores.items() for row in own] + baselines
    singles = [clean for row in rows if row.get("items") and (clean := _clean_score(row, found, encoding))]
    if not singles:
        raise EaseError(
            "No encoder has scores whose items are kept: run the pipeline `evaluate` with `encoding.cache`, then this "
            "one."
        )
    table = pd.DataFrame([*singles, *_averages(singles)], columns=COLUMNS)
    shown = table[
        ["method", "task", "subset", "metric", "items", "contaminated", "whole", "clean", "difference"]
    ]
    logger.info("Scores without the contaminated items, in points of 100:\n%s", format_table(shown))
    log_table(table, "clean_scores")
    return table


def _clean_score(
    row: Mapping[str, Any], found: Mapping[tuple[str, str, str], Mapping[str, Any]], encoding: EncodingOptions
) -> dict[str, Any] | None:
    """Return a row of the clean scores; None without the row's items, or if they are of other data."""
    from ease.evaluation.item_files import read_items
    from ease.evaluation.resampling import FEWEST_ITEMS, interval, resample

    place = row["task"], row["subset"], row["metric"]
    file = encoding.cache / row["items"] if encoding.cache else None
    known = found.get(place)
    if known is None or file is None or not file.is_file():
        return None
    items = read_items(file)[row["subset"], row["metric"]].items
    if items is None or known["data"] != row["data"] or len(items) != known["items"]:
        logger.warning(
            "%s %s of %s was scored on other data: run `evaluate` again", *place[:2], row["method"]
        )
        return None
    clean = items.take(np.setdiff1d(np.arange(len(items)), known["rows"]))
    limits = interval(resample(clean, "/".join(place[:2]))) if len(clean) >= FEWEST_ITEMS else (None, None)
    values = (
        len(items),
        len(known["rows"]),
        row["value"],
        clean.value(),
        clean.value() - row["value"],
        *limits,
    )
    return dict(zip(COLUMNS, (row["method"], row["model"], *place, *values), strict=True))


def _averages(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the mean over the subsets of each task that has several."""
    keys = ["method", "model", "task", "metric"]
    for key, own in pd.DataFrame(rows).groupby(keys, sort=False):
        # A subset without a clean item has no clean score to compare.
        own = own.dropna(subset=["clean"])
        if len(own) > 1:
            sums, means = own[["items", "contaminated"]].sum(), own[["whole", "clean"]].mean()
            yield {
                **dict(zip(keys, key, strict=True)),
                "subset": AVERAGE,
                **sums.to_dict(),
                **means.to_dict(),
                "difference": means["clean"] - means["whole"],
            }
