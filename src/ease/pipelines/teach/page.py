"""Facts on the page about an encoder that was taught a language."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from ease.lazy import DataFrame, pd
from ease.options import Rows
from ease.pipelines.teach.knowledge import KNOWN_SCORE, known_scores, known_subsets


def describe_start(encoder_choice: dict[str, Any]) -> str:
    """Name the starting encoder; one that `auto` chose also with the scores of all candidates."""
    scores = [f"{row['encoder']} {row['mean']:.1f}" for row in encoder_choice["scores"] if "mean" in row]
    if not scores:
        return str(encoder_choice["encoder"])
    return (
        f"{encoder_choice['encoder']}, which finds most translations of names and first sentences ({', '.join(scores)})"
    )


def describe_known(country_names: dict[str, float]) -> str:
    """List the large languages with the score on their names of countries."""
    if not country_names:
        return "none: its weights were random"
    scores = ", ".join(f"{subset} {score:.0f}" for subset, score in country_names.items())
    return f"{len(known_subsets(country_names))} of {len(country_names)}, by the names of countries ({scores})"


def describe_retention(start_scores: dict[str, dict[str, float]], language: str) -> str:
    """List the tasks that the model must keep, with the number of subsets and the starting encoder's mean."""
    scores_by_task = known_scores(start_scores, language)
    tasks = [f"{task} {fmean(scores.values()):.1f} ({len(scores)})" for task, scores in scores_by_task.items()]
    if not tasks:
        return "nothing: the starting encoder knows no task"
    return f"{', '.join(tasks)}: the starting encoder's mean (number of sets with at least {KNOWN_SCORE:g} points)"


def describe_training(history: Rows, dev_tasks: Sequence[str], train: bool | None) -> str:
    """Say whether the encoder was trained, by whose choice, and what chose the checkpoint."""
    if not history and train is False:
        return "no, by `teach.train=false`"
    if not history:
        return "no: it knows most languages, and training would cost more than a small Wikipedia gives (`teach.train`)"
    return f"yes; the checkpoint was chosen by {', '.join(dev_tasks)}"


def describe_languages(ingest_summary: dict[str, Any], pairs: DataFrame) -> DataFrame:
    """Return the pages, sentences, links and training pairs of each language."""
    ingested = pd.DataFrame(ingest_summary["languages"])
    ingested = ingested[["language", "kept", "sentences", "links", "links_resolved"]]
    languages = ingested.merge(pairs, on="language", how="left").fillna({"pairs": 0}).astype({"pairs": int})
    resolved = languages["links_resolved"] / languages["links"].clip(lower=1)
    return languages.rename(columns={"kept": "pages"}).assign(resolved_percent=100 * resolved)
