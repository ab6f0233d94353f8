"""Scores without the contaminated items of test sets, beside the scores on all items."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ease.evaluation.item_files import read_items
from ease.evaluation.resampling import FEWEST_ITEMS, interval, resample
from ease.evaluation.tasks import AVERAGE

logger = logging.getLogger(__name__)

Row = Mapping[str, Any]


def clean_scores(scores: Iterable[Row], contaminated: Iterable[Row], cache: Path) -> list[dict[str, Any]]:
    """Return the clean scores, and the averages of tasks that have several subsets.

    Args:
        scores: Scores of encoders with their `method`, the version of their `data`, and the file of their `items`.
        contaminated: For each score of a test set, its number of `items`, the contaminated `rows` among these, and the
            version of the `data`.
        cache: The folder of the files of items.

    Returns:
        Rows of method, model, task, subset, metric, items, contaminated, whole, clean, difference, and the limits of
        the clean score's 95% interval, low and high. Scores without kept items, or of other data, have no row.
    """
    known = {(row["task"], row["subset"], row["metric"]): row for row in contaminated}
    rows: list[dict[str, Any]] = []
    for score in scores:
        found = known.get((score["task"], score["subset"], score.get("metric")))
        if found is not None and score.get("items") and (cache / score["items"]).is_file():
            rows += _clean_score(score, found, cache / score["items"])
    return [*rows, *_averages(rows)] if rows else []


def _clean_score(score: Row, found: Row, file: Path) -> Iterator[dict[str, Any]]:
    """Yield the row of a clean score; nothing if the score has no items, or is of other data."""
    task, subset, metric = score["task"], score["subset"], score["metric"]
    items = read_items(file)[subset, metric].items
    if items is None or found["data"] != score["data"] or len(items) != found["items"]:
        logger.warning(
            "%s %s of %s was scored on other data: run `evaluate` again", task, subset, score["method"]
        )
        return
    clean = items.take(np.setdiff1d(np.arange(len(items)), found["rows"]))
    low, high = interval(resample(clean, f"{task}/{subset}")) if len(clean) >= FEWEST_ITEMS else (None, None)
    yield {
        "method": score["method"],
        "model": score["model"],
        "task": task,
        "subset": subset,
        "metric": metric,
        "items": len(items),
        "contaminated": len(found["rows"]),
        "whole": score["value"],
        "clean": clean.value(),
        "difference": clean.value() - score["value"],
        "low": low,
        "high": high,
    }


def _averages(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
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
