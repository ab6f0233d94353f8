"""One page on an encoder that was taught a language: what it gained and what it lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ease.reporting.markdown_tables import format_table
from ease.reporting.score_summaries import main_figures
from ease.wikimedia.languages import Language

NEW, OLD = "new", "old"


def compare_before_after(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], language: str
) -> pd.DataFrame:
    """Return the main score of each subset that both encoders were scored on.

    Returns:
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
    codes = {language, Language(language).iso_639_3, Language(language).bcp_47}
    own = [bool(codes & set(str(subset).split("-"))) for subset in joined["subset"]]
    kind = pd.Series([NEW if new else OLD for new in own], index=joined.index, dtype=object)
    joined.insert(3, "kind", kind)
    return joined.assign(gain=joined["after"] - joined["before"])


def summarize_kinds(scores: pd.DataFrame) -> pd.DataFrame:
    """Average the subsets of each task, apart for the new language and the others."""
    groups = scores.groupby(["task", "kind"], sort=False)
    means = groups.agg(
        subsets=("subset", "size"), before=("before", "mean"), after=("after", "mean"), gain=("gain", "mean")
    )
    return means.reset_index()


def render_teaching(
    language: str,
    facts: Mapping[str, str],
    languages: pd.DataFrame,
    scores: pd.DataFrame,
    curve: pd.DataFrame,
) -> str:
    """Render the page as Markdown.

    Args:
        language: The taught language.
        facts: Names and values of the run.
        languages: A row for each language of the training data.
        scores: As `compare_before_after` returns them.
        curve: Development score by step.
    """
    name = f"{Language(language).english_name} ({language})"
    lost = scores[(scores["kind"] == OLD) & (scores["gain"] < 0)].sort_values("gain")
    parts = [
        f"# {name}: what the encoder gained and lost",
        "\n".join(f"- {key}: {facts[key]}" for key in facts),
    ]
    parts += ["## Summary", "Means of the main scores, in points of 100. `new`: subsets with the language."]
    parts += [
        format_table(summarize_kinds(scores)) if len(scores) else "No task has data: nothing was scored."
    ]
    parts += ["## Largest losses", format_table(lost.drop(columns="kind").head(5)) if len(lost) else "None."]
    parts += ["## All scores", format_table(scores)] if len(scores) else []
    parts += ["## Training data", format_table(languages)]
    parts += ["## Development score by step", format_table(curve)] if len(curve) else []
    return "\n\n".join(parts) + "\n"
