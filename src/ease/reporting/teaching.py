"""One page on an encoder that was taught a language: what it gained and what it lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ease.evaluation.scoring import DEVELOPMENT, has_languages
from ease.reporting.markdown_tables import format_table
from ease.reporting.score_summaries import main_figures
from ease.wikimedia.languages import Language

NEW, OLD = "new", "old"

FEW = 10_000
"""Pairs of the language below which they are probably too few for a start that knows other languages"""

MODEL = "data/06_models/teach/ease_plus/latest"

SHOWN = 5  # largest losses and gains on the page; the table has all scores


def compare_before_after(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], language: str
) -> pd.DataFrame:
    """Return the main score of each subset that both encoders were scored on.

    Columns task, subset, metric, kind (`new`: the subset has the language; `old`: others), before, after, gain.
    """
    columns = ["task", "subset", "metric"]
    found = []
    for name, rows in (("before", before), ("after", after)):
        scored = [dict(row) for row in rows if row.get("value") is not None and row.get("dimension") is None]
        frame = pd.DataFrame(scored, columns=[*columns, "value"])
        frame = main_figures(frame) if scored else frame
        found.append(frame[[*columns, "value"]].rename(columns={"value": name}))
    joined = found[0].merge(found[1], on=columns)
    kinds = [NEW if any(has_languages(str(name), [language])) else OLD for name in joined["subset"]]
    joined.insert(3, "kind", pd.Series(kinds, index=joined.index, dtype=object))
    return joined.assign(gain=joined["after"] - joined["before"])


def keeps_start(history: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether no evaluation of a training was above the one before it, so that it keeps its start.

    `history`: Rows of step, name and value.
    """
    scores = {row["step"]: row["value"] for row in history if row["name"] == DEVELOPMENT}
    return 0 in scores and scores[0] >= max(scores.values())


def explain_start(pairs: int, accept: bool) -> str:
    """Return the sentence of a page that says why a training kept its start, and what to try."""
    reason = f"the language has {pairs:,} pairs" if pairs < FEW else "the learning rate is too high for this start"
    linked = "" if accept else " (`latest` links to it only with `teach.accept=true`)"
    return (
        f"**No evaluation was above the start, so the model is the start, unchanged{linked}**, probably because "
        f"{reason}: try more pairs (a larger dump, lower `teach.vocabulary.min_link_count`), another `teach.encoder`, "
        "a lower `teach.ease_plus.training.learning_rate`, or other `teach.companions`."
    )


def summarize_kinds(scores: pd.DataFrame) -> pd.DataFrame:
    """Average the subsets of each task, apart for the new language and the others."""
    means = {name: (name, "mean") for name in ("before", "after", "gain")}
    groups = scores.groupby(["task", "kind"], sort=False)
    return groups.agg(subsets=("subset", "size"), **means).reset_index()


def render_teaching(
    language: str,
    facts: Mapping[str, str],
    languages: pd.DataFrame,
    scores: pd.DataFrame,
    curve: pd.DataFrame,
    verdict: str = "",
) -> str:
    """Render the page on a taught language as Markdown.

    `facts` are names and values of the run, `languages` a row for each language of the training data, `scores` as
    `compare_before_after` returns them, `curve` the development score by step; `verdict` is on a kept start.
    """
    name = f"{Language(language).english_name} ({language})"
    new = scores[scores["kind"] == NEW].drop(columns="kind")
    old = scores[scores["kind"] == OLD].drop(columns="kind").sort_values("gain")
    lost, gained = old[old["gain"] < 0].head(SHOWN), old[old["gain"] > 0].tail(SHOWN)[::-1]
    sections = {name: new, "Largest losses of others": lost, "Largest gains of others": gained}
    parts = [
        f"# {name}: what the encoder gained and lost",
        "\n".join(f"- {key}: {value}" for key, value in facts.items()),
        "## Summary",
        verdict,
        f'Load the model by `SentenceTransformer("{MODEL}")`; `make demo ARGS=--setting=teach` searches its sentences.',
        "Means of the main scores, in points of 100. `new`: subsets with the language.",
        format_table(summarize_kinds(scores)) if len(scores) else "No task has data: nothing was scored.",
    ]
    for title, own in sections.items():
        parts += [f"## {title}", format_table(own) if len(own) else "None."]
    parts += ["## Training data", format_table(languages)]
    parts += ["## Development score by step", format_table(curve)] if len(curve) else []
    return "\n\n".join(filter(None, parts)) + "\n"
