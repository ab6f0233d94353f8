"""Page on an encoder that was taught a language: its gains and losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ease.encoders.learnt_letters import Respelling
from ease.evaluation.resampling import Interval, interval
from ease.evaluation.scoring import DEVELOPMENT, KEPT_STEP, RETENTION, has_any_language
from ease.lazy import pd
from ease.reporting.markdown_tables import format_table
from ease.reporting.own import cached_resamples
from ease.reporting.score_summaries import main_figures
from ease.wikimedia.languages import Language

NEW_LANGUAGE = "new"
"""Kind of the subsets with the taught language"""
OLD_LANGUAGE = "old"
"""Kind of all other subsets"""

FEW_PAIRS = 10_000
"""Fewer pairs of the language are probably too few for a starting encoder that knows other languages."""

TAUGHT_MODEL = "data/06_models/teach/ease_plus/latest"

LISTED_CHANGES = 5
"""Largest losses and gains on the page; the table has all scores."""


def compare_before_after(
    before: Sequence[Mapping[str, Any]],
    after: Sequence[Mapping[str, Any]],
    language: str,
    cache: Path | None = None,
) -> pd.DataFrame:
    """Return the main score of each subset that both encoders were scored on.

    Args:
        before: Rows of scores of the starting encoder.
        after: Rows of scores of the taught one.
        language: Code of the taught language.
        cache: Folder of the files of items, from which the intervals are computed; without it, there are none.

    Returns:
        Columns task, subset, metric, kind (`new`: the subset has the language; `old`: all others), before, after, gain,
        low and high (limits of the gain's 95% interval by paired bootstrap over the test items; missing if the scores
        are not of the same items).
    """
    columns = ["task", "subset", "metric"]
    both = _main_scores(before).merge(_main_scores(after), on=columns, suffixes=("_before", "_after"))
    joined = both[columns].assign(before=both["value_before"], after=both["value_after"])
    kinds = []
    for name in joined["subset"]:
        if has_any_language(str(name), [language]):
            kinds.append(NEW_LANGUAGE)
        else:
            kinds.append(OLD_LANGUAGE)
    # The type is given, since it would be another one for an empty table.
    joined.insert(3, "kind", pd.Series(kinds, index=joined.index, dtype=object))
    intervals = [_gain_interval(row, cache) for row in both.to_dict("records")]
    limits = pd.DataFrame(intervals, index=joined.index, columns=["low", "high"], dtype=float)
    return joined.assign(gain=joined["after"] - joined["before"]).join(limits)


def _main_scores(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return task, subset, metric, value, and the versions and files of the items, of complete embeddings."""
    columns = ["task", "subset", "metric", "value", "data", "items"]
    records = [dict(row) for row in rows if row.get("value") is not None and row.get("dimension") is None]
    scores = pd.DataFrame(records, columns=[*columns, "main"])
    if records:
        scores = main_figures(scores)
    return scores[columns]


def _gain_interval(row: Mapping[str, Any], cache: Path | None) -> Interval | tuple[None, None]:
    """Return the interval of the gain on the same resamples of the test items; of no two such scores: no limits."""
    files = [row["items_before"], row["items_after"]]
    if cache is None or not all(isinstance(file, str) and file for file in files):
        return (None, None)
    key = (row["subset"], row["metric"])
    resampled = [cached_resamples(cache / file).get(key) for file in files]
    if row["data_before"] != row["data_after"] or resampled[0] is None or resampled[1] is None:
        return (None, None)
    return interval(resampled[1] - resampled[0])


def keeps_start(history: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a training run keeps its starting encoder, because no other candidate was better.

    `history`: Rows of step, name and value; none if nothing was trained.
    """
    return all(row["value"] == 0 for row in history if row["name"] == KEPT_STEP)


def learning_curve(history: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the development score by step, and the share of each task's score at the start that is kept, in percent.

    `history`: Rows of step, name and value.
    """
    rows = pd.DataFrame(history, columns=["step", "name", "value"])
    tasks = [name for name in rows["name"].unique() if name.startswith(f"{RETENTION}/")]
    curve = rows[rows["name"].isin([DEVELOPMENT, *tasks])].pivot(index="step", columns="name", values="value")
    for task in tasks:
        curve[f"{task.removeprefix(f'{RETENTION}/')}, % kept"] = 100 * curve[task] / curve[task].iloc[0]
    return curve.drop(columns=tasks).reset_index()


def explain_start(pairs: int, accept: bool, trained: bool, train: bool | None) -> str:
    """Return the page's sentence on why the starting encoder was kept, and what to try.

    Args:
        pairs: Number of the language's training pairs.
        accept: Whether `latest` links to the model nevertheless.
        trained: Whether there was a training run.
        train: `teach.train`; None if the run decided itself.
    """
    reason = "the learning rate is too high for this encoder"
    if pairs < FEW_PAIRS:
        reason = f"the language has {pairs:,} pairs"
    linked = ""
    if not accept:
        linked = " (`latest` links to it only with `teach.accept=true`)"
    if not trained:
        untrained = "it knows most languages already"
        if train is False:
            untrained = "`teach.train=false` excludes training"
        return (
            f"**The model is the starting encoder, unchanged{linked}**: {untrained}, and no letter of this language is "
            "better read as another. Try another `teach.encoder`, or `teach.train=true`."
        )
    return (
        f"**No evaluation was above the starting encoder, so the model is that encoder, unchanged{linked}**, probably "
        f"because {reason}: try more pairs (a larger dump, lower `teach.vocabulary.min_link_count`), another "
        "`teach.encoder`, a lower `teach.ease_plus.training.learning_rate`, or other `teach.companions`."
    )


def describe_letters(respelling: Respelling, kept: float | None) -> str:
    """Return the page's line on the letters that the encoder reads as others, and the evidence.

    `kept`: Share of its scores in other languages that the respelt encoder keeps, in percent.
    """
    if not respelling.helps:
        return f"none is read as another: {respelling.reason}"
    letters = ", ".join(
        f"{gain.letter} → {gain.replacement or '(nothing)'} ({gain.standard_errors:.1f} standard errors)"
        for gain in respelling.letters
    )
    return (
        f"{letters}; {len(respelling.pieces):,} pieces were added to the vocabulary. On {respelling.held_out} "
        f"held-out pairs of names and first sentences, the loss falls from {respelling.loss_before:.2f} to "
        f"{respelling.loss_after:.2f} nats ({respelling.standard_errors:.1f} standard errors), and {kept:.1f}% of what "
        "the starting encoder knows of other languages is kept"
    )


def summarize_kinds(scores: pd.DataFrame) -> pd.DataFrame:
    """Average the subsets of each task, separately for the new language and the others."""
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
    """Return the page on a taught language as Markdown.

    Args:
        language: Code of the taught language.
        facts: Names and values of the run.
        languages: A row for each language of the training data.
        scores: Scores as `compare_before_after` returns them.
        curve: The development score by step, as `learning_curve` returns it.
        verdict: Sentence on a starting encoder that was kept; empty if it was not.
    """
    name = f"{Language(language).english_name} ({language})"
    taught_scores = scores[scores["kind"] == NEW_LANGUAGE].drop(columns="kind")
    other_scores = scores[scores["kind"] == OLD_LANGUAGE].drop(columns="kind").sort_values("gain")
    losses = other_scores[other_scores["gain"] < 0].head(LISTED_CHANGES)
    gains = other_scores[other_scores["gain"] > 0].tail(LISTED_CHANGES)[::-1]
    summary = "No task has data: nothing was scored."
    if len(scores):
        summary = format_table(summarize_kinds(scores))
    parts = [
        f"# {name}: what the encoder gained and lost",
        "\n".join(f"- {key}: {value}" for key, value in facts.items()),
        "## Summary",
        verdict,
        f'Load the model by `SentenceTransformer("{TAUGHT_MODEL}")`; `make demo ARGS=--setting=teach` searches its '
        "sentences.",
        "Means of the main scores, in points of 100. `new`: subsets with the language. In the tables below, `low` and "
        "`high` are the limits of the gain's 95% interval: paired bootstrap over the test items, which says nothing of "
        "other training seeds.",
        summary,
    ]
    tables = {name: taught_scores, "Largest losses of others": losses, "Largest gains of others": gains}
    for title, rows in tables.items():
        section = "None."
        if len(rows):
            section = format_table(rows)
        parts += [f"## {title}", section]
    parts += ["## Training data", format_table(languages)]
    if len(curve):
        parts += ["## Development score by step", format_table(curve)]
    return "\n\n".join(filter(None, parts)) + "\n"
