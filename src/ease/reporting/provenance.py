"""Versions of the model, code and data behind each score."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ease.evaluation.resampling import Interval, seed_interval
from ease.reporting.encoding import encoding_text
from ease.reporting.own import OwnModel

DIGITS = 12
"""Digits of a digest that are shown."""

UNKNOWN = "not recorded"
DATA = "Data (SHA-256)"


def model_versions(own: Sequence[OwnModel]) -> pd.DataFrame:
    """Return one row per model and version of the code that scored it."""
    rows = [
        {
            "Model": model.name,
            "Version or name": model.model or UNKNOWN,
            "Starts from": model.base,
            "Pooling": model.pooling or "the model's own",
            "Encoded with": encoding_text(rows) or UNKNOWN,
            "Seeds": ", ".join(seed or UNKNOWN for seed in model.seeds) or "none",
            "Code": code or UNKNOWN,
            "Scores": len(rows),
        }
        for model in own
        for code, rows in model.rows.groupby("code", sort=False)
    ]
    return pd.DataFrame(rows)


def all_scores(own: Sequence[OwnModel]) -> dict[str, pd.DataFrame]:
    """Return all scores of each task as text: one row per subset and metric, one column per model.

    A standard deviation over training seeds follows ±; one over repetitions of the task is in parentheses. The 95%
    interval, in square brackets, is over the seeds if there are several, else over the test items.
    """
    rows = pd.concat([model.rows.assign(label=model.label) for model in own], ignore_index=True)
    return {str(task): _scores_of(group) for task, group in rows.groupby("task", sort=False)}


def _scores_of(rows: pd.DataFrame) -> pd.DataFrame:
    keys, labels = ["subset", "metric"], list(rows["label"].unique())
    cells = rows.groupby([*keys, "label"], sort=False).apply(_score_text, include_groups=False)
    wide = cells.unstack("label")[labels].reindex(pd.MultiIndex.from_frame(rows[keys].drop_duplicates()))
    wide[DATA] = rows.groupby(keys, sort=False).apply(_data_text, include_groups=False)
    return wide.fillna("").reset_index().rename(columns={"subset": "Subset", "metric": "Metric"})


def _data_text(scores: pd.DataFrame) -> str:
    """Return the version of the data, or each model's version if they differ."""
    known = scores[scores["data"] != ""]
    models = {str(data)[:DIGITS]: ", ".join(own["label"].unique()) for data, own in known.groupby("data")}
    if len(models) > 1:
        return "; ".join(f"{data} ({names})" for data, names in models.items())
    return next(iter(models), UNKNOWN)


def _limits(scores: pd.DataFrame) -> Interval | None:
    if len(scores) > 1:
        return seed_interval(list(scores["value"]))
    limits = scores[["low", "high"]].iloc[0].astype(float)
    return None if limits.isna().any() else Interval(*limits)


def _score_text(scores: pd.DataFrame) -> str:
    """Format a score with its standard deviation and note."""
    deviations = scores["deviation"].dropna()
    text = f"{scores['value'].mean():.2f}"
    if len(scores) > 1:
        text += f" ± {scores['value'].std():.2f}"
    elif len(deviations):
        text += f" ({deviations.iloc[0]:.2f})"
    if limits := _limits(scores):
        text += f" [{limits.low:.2f}, {limits.high:.2f}]"
    notes = [note for note in scores["note"].unique() if note]
    return f"{text}, {'; '.join(notes)}" if notes else text
