"""Scores in other formats: MTEB's result files, and evaluation results of the Hugging Face hub."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from ease.encoders.model_card import TEST_SCORES, with_section
from ease.evaluation.scoring import BASELINES
from ease.evaluation.tasks import get_task
from ease.io.files import read_data_file
from ease.names import safe_name
from ease.reporting.markdown_tables import format_table
from ease.reporting.own import OwnModel
from ease.reporting.score_summaries import main_figures

SPLIT = "test"  # the split of result files of subsets that MTEB lacks, and of those that it has
UNKNOWN_REVISION = "no_revision_available"  # MTEB's name for an unknown revision of a model


MTEB: dict[str, dict[str, dict[str, Any]]] = read_data_file("ease.reporting", "mteb_tasks.yml")
"""Our subsets that MTEB also has, by task and subset: task, subset, languages, dataset and revision there."""


def write_exports(folder: Path, models: Sequence[OwnModel]) -> int:
    """Write the main scores of every model that is not part of a sweep; return the number of models.

    `mteb/results/MODEL/REVISION` holds a result file for each task, as MTEB's own cache does. `hub/MODEL` has
    `.eval_results` for the model's repository.
    """
    count = 0
    for model in models:
        scores = main_rows(model)
        if model.sweep or scores.empty:
            continue
        name, revision = _name_and_revision(model)
        results = folder / "mteb" / "results" / name.replace("/", "__") / revision
        results.mkdir(parents=True, exist_ok=True)
        meta = {"name": name, "revision": revision, "release_date": None, "languages": None, "loader": None}
        for title, content in {**task_results(scores), "model_meta": meta}.items():
            (results / f"{title}.json").write_text(json.dumps(content, indent=2), encoding="utf-8")
        write_eval_results(folder / "hub" / name.replace("/", "__") / ".eval_results", scores)
        count += 1
    return count


def main_rows(model: OwnModel) -> pd.DataFrame:
    """Return a model's scores of single subsets by the tasks' main metrics, the last one of each subset."""
    rows = main_figures(model.rows[model.rows["value"].notna()])
    return rows.drop_duplicates(["task", "subset"], keep="last")


def _name_and_revision(model: OwnModel) -> tuple[str, str]:
    """Return a model's hub name, or one of its setting and method, and the commit of a baseline or its version."""
    own_name = f"ease/{safe_name(f'{model.setting}-{model.method}')}"
    if model.setting != BASELINES:
        return own_name, f"version_{safe_name(model.model)}" if model.model else UNKNOWN_REVISION
    given = model.model
    on_hub = given.count("/") == 1 and not given.startswith((".", "/")) and not Path(given).exists()
    known = [str(revision) for revision in model.rows["revision"].dropna()][-1:]
    return given if on_hub else own_name, safe_name(known[0]) if any(known) else UNKNOWN_REVISION


def task_results(scores: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the content of MTEB's result files by the name of the task; scores are from 0 to 1.

    Tasks that MTEB lacks have our names after `ease_`, and the digest of their data as revision.
    """
    results: dict[str, dict[str, Any]] = {}
    for row in scores.to_dict("records"):
        own = MTEB.get(row["task"], {}).get(row["subset"])
        name = own["task"] if own else f"ease_{row['task']}"
        if name not in results:
            results[name] = {
                "dataset_revision": own["revision"] if own else _digest(scores, row["task"]),
                "task_name": name,
                "mteb_version": None,
                "scores": {SPLIT: []},
                "evaluation_time": None,
                "kg_co2_emissions": None,
            }
        value = row["value"] / 100
        entry = {
            "main_score": value,
            "cosine_spearman" if own else row["metric"]: value,
            "hf_subset": own["subset"] if own else row["subset"],
            "languages": list(own["languages"]) if own else [],
        }
        if pd.notna(row["low"]):
            entry["interval_95"] = [row["low"] / 100, row["high"] / 100]
        results[name]["scores"][SPLIT].append(entry)
    return results


def _digest(scores: pd.DataFrame, task: str) -> str:
    """Return a digest of the data of all scored subsets of a task, or `unknown` if one has none."""
    data = sorted(set(scores.loc[scores["task"] == task, "data"]))
    if "" in data:
        return "unknown"
    return data[0] if len(data) == 1 else hashlib.sha256("\n".join(data).encode()).hexdigest()


def write_eval_results(folder: Path, scores: pd.DataFrame) -> None:
    """Write the hub's evaluation results, in points, one file for each of its data sets that the scores have."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    entries = defaultdict(list)
    for row in scores.to_dict("records"):
        if own := MTEB.get(row["task"], {}).get(row["subset"]):
            interval = f", 95% interval {row['low']:.2f} to {row['high']:.2f}" if pd.notna(row["low"]) else ""
            entries[own["task"]].append(
                EvalResultEntry(
                    dataset_id=own["dataset"],
                    task_id=own["subset"],
                    value=round(row["value"], 4),
                    dataset_revision=own["revision"],
                    notes=f"{row['metric']} in points{interval}",
                )
            )
    for task, found in entries.items():
        folder.mkdir(parents=True, exist_ok=True)
        text = yaml.safe_dump(eval_result_entries_to_yaml(found), sort_keys=False)
        (folder / f"{safe_name(task)}.yaml").write_text(text, encoding="utf-8")


def _card_result(row: Mapping[str, Any]) -> Any:
    """Return a score in the format of a model card's `model-index`, with the limits of the 95% interval as `args`."""
    from huggingface_hub import EvalResult

    task, subset, revision = row["task"], row["subset"], row["data"] or None
    own = MTEB.get(task, {}).get(subset) or dict(dataset=task, task=task, subset=subset, revision=revision)
    limits = [round(row["low"], 4), round(row["high"], 4)] if pd.notna(row["low"]) else None
    return EvalResult(
        task_type=get_task(task).KIND,
        dataset_type=own["dataset"],
        dataset_name=f"{own['task']} {subset}",
        dataset_config=own["subset"],
        dataset_split=SPLIT,
        dataset_revision=own["revision"],
        metric_type=row["metric"],
        metric_name=row["metric"].replace("_", " "),
        metric_value=round(row["value"], 4),
        metric_args={"interval_95": limits} if limits else None,
    )


def hub_card(card: str, name: str, scores: pd.DataFrame, sections: Mapping[str, str]) -> str:
    """Return a training's card with the test scores and their 95% intervals, as the hub reads them, and more sections.

    `name` is that of the model in the evaluation results, `scores` are as `main_rows` gives them and may be empty,
    `sections` the texts of further sections by their titles, for the end of the card.
    """
    from huggingface_hub import RepoCard
    from huggingface_hub.repocard_data import eval_results_to_model_index

    training_card = RepoCard(card)
    front, body = training_card.data.to_dict(), training_card.text
    if not scores.empty:
        front["model-index"] = eval_results_to_model_index(name, [*map(_card_result, scores.to_dict("records"))])
        front["metrics"] = sorted(set(scores["metric"]))
        rows = [
            {
                "test set": f"`{row['task']}/{row['subset']}`",
                "metric": str(row["metric"]).replace("_", " "),
                "points": row["value"],
                "95% interval": f"{row['low']:.2f} to {row['high']:.2f}" if pd.notna(row["low"]) else None,
            }
            for row in scores.sort_values(["task", "subset"]).to_dict("records")
        ]
        body = with_section(body, TEST_SCORES, format_table(pd.DataFrame(rows), decimals=2))
    for title, text in sections.items():
        body = with_section(body, title, text)
    return f"---\n{yaml.safe_dump(front, sort_keys=False, allow_unicode=True)}---\n{body}"
