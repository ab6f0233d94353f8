"""Scores in other formats: MTEB's result files, and the Hugging Face hub's evaluation results."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ease.encoders.model_card import TEST_SCORES, with_section
from ease.evaluation.scoring import BASELINES
from ease.evaluation.tasks import package_task
from ease.io.files import read_data_file
from ease.lazy import pd
from ease.names import safe_name
from ease.reporting.markdown_tables import format_table
from ease.reporting.own import OwnModel
from ease.reporting.score_summaries import main_figures

MTEB_SPLIT = "test"
"""Split in result files: MTEB's for its own subsets, and also that of the others"""
UNKNOWN_REVISION = "no_revision_available"
"""MTEB's name for an unknown revision of a model"""

MTEB_SUBSETS: dict[str, dict[str, dict[str, Any]]] = read_data_file("ease.reporting", "mteb_tasks.yml")
"""MTEB's task, subset, languages, dataset and revision of our subsets that it also has, by our task and subset"""


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
    """Return a model's scores of single subsets by the tasks' main metrics, the last score of each subset."""
    rows = main_figures(model.rows[model.rows["value"].notna()])
    return rows.drop_duplicates(["task", "subset"], keep="last")


def _name_and_revision(model: OwnModel) -> tuple[str, str]:
    """Return a name and a revision for MTEB.

    The name is a baseline's hub name, else one of setting and method; the revision is a baseline's commit, else the
    model's version.
    """
    name = f"ease/{safe_name(f'{model.setting}-{model.method}')}"
    revision = UNKNOWN_REVISION
    if model.setting != BASELINES:
        if model.model:
            revision = f"version_{safe_name(model.model)}"
        return name, revision
    encoder = model.model
    # `owner/name` may also be a folder.
    if encoder.count("/") == 1 and not encoder.startswith((".", "/")) and not Path(encoder).exists():
        name = encoder
    commits = [str(commit) for commit in model.rows["revision"].dropna()]
    if commits and commits[-1]:
        revision = safe_name(commits[-1])
    return name, revision


def task_results(scores: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the contents of MTEB's result files by task name; scores are from 0 to 1.

    Tasks that MTEB lacks have our names after `ease_`, and the digest of their data as revision.
    """
    results: dict[str, dict[str, Any]] = {}
    for row in scores.to_dict("records"):
        subset = MTEB_SUBSETS.get(row["task"], {}).get(row["subset"])
        metric = "cosine_spearman"
        if subset is None:
            name = f"ease_{row['task']}"
            revision = _data_digest(scores, row["task"])
            subset = {"task": name, "subset": row["subset"], "languages": [], "revision": revision}
            metric = row["metric"]
        name = subset["task"]
        if name not in results:
            results[name] = {
                "dataset_revision": subset["revision"],
                "task_name": name,
                "mteb_version": None,
                "scores": {MTEB_SPLIT: []},
                "evaluation_time": None,
                "kg_co2_emissions": None,
            }
        value = row["value"] / 100
        entry = {
            "main_score": value,
            metric: value,
            "hf_subset": subset["subset"],
            "languages": list(subset["languages"]),
        }
        if pd.notna(row["low"]):
            entry["interval_95"] = [row["low"] / 100, row["high"] / 100]
        results[name]["scores"][MTEB_SPLIT].append(entry)
    return results


def _data_digest(scores: pd.DataFrame, task: str) -> str:
    """Return a digest of the data of all scored subsets of a task, or `unknown` if a subset has none."""
    digests = sorted(set(scores.loc[scores["task"] == task, "data"]))
    if "" in digests:
        return "unknown"
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def write_eval_results(folder: Path, scores: pd.DataFrame) -> None:
    """Write the hub's evaluation results, in points, one file for each of the hub's data sets that the scores have."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    entries = defaultdict(list)
    for row in scores.to_dict("records"):
        subset = MTEB_SUBSETS.get(row["task"], {}).get(row["subset"])
        if subset is None:
            continue
        notes = f"{row['metric']} in points"
        if pd.notna(row["low"]):
            notes += f", 95% interval {row['low']:.2f} to {row['high']:.2f}"
        entry = EvalResultEntry(
            dataset_id=subset["dataset"],
            task_id=subset["subset"],
            value=round(row["value"], 4),
            dataset_revision=subset["revision"],
            notes=notes,
        )
        entries[subset["task"]].append(entry)
    for task, task_entries in entries.items():
        # Only here: a model may have no score on the hub's data sets.
        folder.mkdir(parents=True, exist_ok=True)
        text = yaml.safe_dump(eval_result_entries_to_yaml(task_entries), sort_keys=False)
        (folder / f"{safe_name(task)}.yaml").write_text(text, encoding="utf-8")


def _card_result(row: Mapping[str, Any]) -> Any:
    """Return a score in the format of a model card's `model-index`, with the limits of the 95% interval as `args`."""
    from huggingface_hub import EvalResult

    task = row["task"]
    subset = row["subset"]
    data_set = MTEB_SUBSETS.get(task, {}).get(subset)
    if data_set is None:
        data_set = {"dataset": task, "task": task, "subset": subset, "revision": row["data"] or None}
    task_type = row["task_type"]
    if pd.isna(task_type):  # saved by an earlier version, which had the package's tasks alone
        task_type = package_task(task).task_type
    arguments = None
    if pd.notna(row["low"]):
        arguments = {"interval_95": [round(row["low"], 4), round(row["high"], 4)]}
    return EvalResult(
        task_type=task_type,
        dataset_type=data_set["dataset"],
        dataset_name=f"{data_set['task']} {subset}",
        dataset_config=data_set["subset"],
        dataset_split=MTEB_SPLIT,
        dataset_revision=data_set["revision"],
        metric_type=row["metric"],
        metric_name=row["metric"].replace("_", " "),
        metric_value=round(row["value"], 4),
        metric_args=arguments,
    )


def hub_card(card: str, name: str, scores: pd.DataFrame, sections: Mapping[str, str]) -> str:
    """Return a model card with the test scores and their 95% intervals, as the hub reads them, and further sections.

    Args:
        card: Card that the training run wrote.
        name: Name of the model in the evaluation results.
        scores: Scores as `main_rows` returns them; may be empty.
        sections: Texts of further sections by their titles, for the end of the card.
    """
    from huggingface_hub import RepoCard
    from huggingface_hub.repocard_data import eval_results_to_model_index

    training_card = RepoCard(card)
    front = training_card.data.to_dict()
    body = training_card.text
    if not scores.empty:
        front["model-index"] = eval_results_to_model_index(name, [*map(_card_result, scores.to_dict("records"))])
        front["metrics"] = sorted(set(scores["metric"]))
        rows = []
        for row in scores.sort_values(["task", "subset"]).to_dict("records"):
            interval = None
            if pd.notna(row["low"]):
                interval = f"{row['low']:.2f} to {row['high']:.2f}"
            rows.append(
                {
                    "test set": f"`{row['task']}/{row['subset']}`",
                    "metric": str(row["metric"]).replace("_", " "),
                    "points": row["value"],
                    "95% interval": interval,
                }
            )
        body = with_section(body, TEST_SCORES, format_table(pd.DataFrame(rows), decimals=2))
    for title, text in sections.items():
        body = with_section(body, title, text)
    return f"---\n{yaml.safe_dump(front, sort_keys=False, allow_unicode=True)}---\n{body}"
