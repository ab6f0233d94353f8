"""The node that reports what an encoder gained and lost."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pandas as pd

from ease.io.atomic import write_text_atomically
from ease.io.lazy import ibis
from ease.io.names import DEVELOPMENT
from ease.pipelines.mlflow_runs import log_table
from ease.pipelines.setting import Setting
from ease.pipelines.work import scratch_for_run
from ease.reporting.markdown_tables import format_table
from ease.reporting.teaching import (
    compare_before_after,
    explain_start,
    keeps_start,
    render_teaching,
    summarize_kinds,
)

logger = logging.getLogger(__name__)


def report_teaching(
    dumps: dict[str, Any],
    ingest_summary: dict[str, Any],
    vocabulary: ibis.Table,
    training_pairs: ibis.Table,
    before: list[dict[str, Any]],
    after: list[dict[str, Any]],
    history: list[dict[str, Any]],
    setting: Setting,
    language: str,
    accept: bool,
    work: str,
) -> tuple[Path, pd.DataFrame]:
    """Write one page with the scores before and after, the training data and the development curve.

    Returns:
        The page, in Markdown; the scores of each subset before and after.
    """
    scores = compare_before_after(before, after, language)
    logger.info("Before and after, in points of 100:\n%s", format_table(summarize_kinds(scores)))
    log_table(scores, "teaching_scores")
    pairs = training_pairs.group_by("language").agg(pairs=training_pairs.count()).to_pandas()
    parsed = pd.DataFrame(ingest_summary["languages"])
    parsed = parsed[["language", "kept", "sentences", "links", "links_resolved"]]
    languages = parsed.merge(pairs, on="language", how="left").fillna({"pairs": 0}).astype({"pairs": int})
    resolved = languages["links_resolved"] / languages["links"].clip(lower=1)
    languages = languages.rename(columns={"kept": "pages"}).assign(resolved_percent=100 * resolved)
    curve = pd.DataFrame([row for row in history if row["name"] == DEVELOPMENT])
    curve = curve[["step", "value"]].rename(columns={"value": "development"}) if len(curve) else curve
    dates = sorted({str(dump["dump_date"] or "unknown") for dump in dumps["wikipedia"]})
    facts = {
        "Start": setting.encoder.name,
        "Companions": ", ".join(code for code in setting.languages if code != language),
        "Dumps": f"{dumps['source']}, dated {', '.join(dates)}",
        "Entities": f"{vocabulary.count().execute():,}",
        "Checkpoint chosen by": ", ".join(setting.dev_tasks),
        "Hard negatives": "by the items' types"
        if dumps["wikidata"]
        else "none (no Wikidata dump with types)",
    }
    taught = int(pairs.set_index("language")["pairs"].get(language, 0))
    verdict = explain_start(taught, accept) if keeps_start(history) else ""
    page = scratch_for_run(work, f"{setting.name}.report") / "teaching.md"
    write_text_atomically(page, render_teaching(language, facts, languages, scores, curve, verdict))
    return page, scores
