"""Scores in other formats: MTEB's result files, and evaluation results of the Hugging Face hub."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from ease.encoders.model_card import TEST_SCORES, with_section
from ease.evaluation.tasks import AVERAGE, get_task
from ease.io.data_files import read_data_file
from ease.io.models import StrictModel
from ease.io.names import BASELINES, safe_name
from ease.reporting.markdown_tables import format_table
from ease.reporting.own import OwnModel

SPLIT = "test"
"""The split of result files of subsets that MTEB lacks, and of those that it has."""

UNKNOWN_REVISION = "no_revision_available"
"""MTEB's name for an unknown revision of a model."""


class MtebSubset(StrictModel):
    """The same subset in MTEB."""

    task: str
    subset: str
    languages: tuple[str, ...]
    dataset: str
    revision: str


MTEB: dict[str, dict[str, MtebSubset]] = {
    task: {subset: MtebSubset.model_validate(about) for subset, about in subsets.items()}
    for task, subsets in read_data_file("ease.reporting", "mteb_tasks.yml").items()
}
"""Our subsets that MTEB also has, by task and subset."""


def write_exports(folder: Path, models: Sequence[OwnModel]) -> int:
    """Write the main scores of every model that is not part of a sweep; return the number of models.

    `mteb/results/MODEL/REVISION` holds a result file for each task, as MTEB's own cache does. `hub/MODEL` has the files
    for the model's repository: `.eval_results`, and a card whose metadata has the older format `model-index`.
    """
    count = 0
    for model in models:
        scores = main_rows(model)
        if model.sweep or scores.empty:
            continue
        name, revision = hub_name(model), model_revision(model)
        _write_mteb(folder / "mteb" / "results" / name.replace("/", "__") / revision, name, revision, scores)
        _write_hub(folder / "hub" / name.replace("/", "__"), name, scores)
        count += 1
    return count


def main_rows(model: OwnModel) -> pd.DataFrame:
    """Return a model's scores of single subsets by the tasks' main metrics, the last one of each subset."""
    rows = model.rows[model.rows["value"].notna()]
    metrics = rows["task"].map({task: get_task(task).METRIC for task in rows["task"].unique()})
    single = rows[(rows["metric"] == metrics) & ~rows["subset"].str.startswith(AVERAGE)]
    return single.drop_duplicates(["task", "subset"], keep="last")


def hub_name(model: OwnModel) -> str:
    """Return the name of a model in result files: its hub name, or one of its setting and method."""
    given = model.model if model.setting == BASELINES else ""
    is_hub_name = given.count("/") == 1 and not given.startswith((".", "/")) and not Path(given).exists()
    return given if is_hub_name else f"ease/{safe_name(f'{model.setting}-{model.method}')}"


def model_revision(model: OwnModel) -> str:
    """Return the commit of a baseline, as far as it is known, and the version of an encoder that was trained here."""
    if model.setting != BASELINES:
        return f"version_{safe_name(model.model)}" if model.model else UNKNOWN_REVISION
    known = model.rows["revision"].dropna()
    return safe_name(str(known.iloc[-1])) if len(known) and known.iloc[-1] else UNKNOWN_REVISION


def task_results(scores: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the content of MTEB's result files by the name of the task; scores are from 0 to 1.

    Tasks that MTEB lacks have our names after `ease_`, and the digest of their data as revision.
    """
    results: dict[str, dict[str, Any]] = {}
    for row in scores.to_dict("records"):
        own = MTEB.get(row["task"], {}).get(row["subset"])
        name = own.task if own else f"ease_{row['task']}"
        result = results.setdefault(
            name,
            {
                "dataset_revision": own.revision if own else _digest(scores, row["task"]),
                "task_name": name,
                "mteb_version": None,
                "scores": {SPLIT: []},
                "evaluation_time": None,
                "kg_co2_emissions": None,
            },
        )
        value = row["value"] / 100
        entry = {
            "main_score": value,
            "cosine_spearman" if own else row["metric"]: value,
            "hf_subset": own.subset if own else row["subset"],
            "languages": list(own.languages) if own else [],
        }
        if pd.notna(row["low"]):
            entry["interval_95"] = [row["low"] / 100, row["high"] / 100]
        result["scores"][SPLIT].append(entry)
    return results


def _digest(scores: pd.DataFrame, task: str) -> str:
    """Return a digest of the data of all scored subsets of a task, or `unknown` if one has none."""
    data = sorted({str(value) for value in scores.loc[scores["task"] == task, "data"].fillna("")})
    if "" in data:
        return "unknown"
    return data[0] if len(data) == 1 else hashlib.sha256("\n".join(data).encode()).hexdigest()


def _write_mteb(folder: Path, name: str, revision: str, scores: pd.DataFrame) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for task, result in task_results(scores).items():
        (folder / f"{task}.json").write_text(json.dumps(result, indent=2), encoding="utf-8")
    meta = {"name": name, "revision": revision, "release_date": None, "languages": None, "loader": None}
    (folder / "model_meta.json").write_text(json.dumps(meta, indent=2), encoding="utf-8")


def _write_hub(folder: Path, name: str, scores: pd.DataFrame) -> None:
    from huggingface_hub import ModelCard, ModelCardData

    results = folder / ".eval_results"
    results.mkdir(parents=True, exist_ok=True)
    write_eval_results(results, scores)
    data = ModelCardData(model_name=name, eval_results=list(card_results(scores)))
    (folder / "README.md").write_text(str(ModelCard(f"---\n{data}\n---\n")), encoding="utf-8")


def write_eval_results(folder: Path, scores: pd.DataFrame) -> None:
    """Write the hub's evaluation results, one file for each of its data sets that the scores have."""
    from huggingface_hub import eval_result_entries_to_yaml

    for task, own in hub_entries(scores).items():
        folder.mkdir(parents=True, exist_ok=True)
        text = yaml.safe_dump(eval_result_entries_to_yaml(own), sort_keys=False)
        (folder / f"{safe_name(task)}.yaml").write_text(text, encoding="utf-8")


def hub_entries(scores: pd.DataFrame) -> Mapping[str, list[Any]]:
    """Return the hub's evaluation results, in points, of the subsets whose data set is on the hub, by MTEB's task."""
    from huggingface_hub import EvalResultEntry

    entries = defaultdict(list)
    for row in scores.to_dict("records"):
        if own := MTEB.get(row["task"], {}).get(row["subset"]):
            interval = f", 95% interval {row['low']:.2f} to {row['high']:.2f}" if pd.notna(row["low"]) else ""
            entries[own.task].append(
                EvalResultEntry(
                    dataset_id=own.dataset,
                    task_id=own.subset,
                    value=round(row["value"], 4),
                    dataset_revision=own.revision,
                    notes=f"{row['metric']} in points{interval}",
                )
            )
    return entries


def card_results(scores: pd.DataFrame) -> Iterator[Any]:
    """Yield all scores in the format of a model card's `model-index`, with the limits of the 95% interval as `args`."""
    from huggingface_hub import EvalResult

    for row in scores.to_dict("records"):
        own = MTEB.get(row["task"], {}).get(row["subset"])
        yield EvalResult(
            task_type=get_task(row["task"]).KIND,
            dataset_type=own.dataset if own else row["task"],
            dataset_name=f"{own.task if own else row['task']} {row['subset']}",
            dataset_config=own.subset if own else row["subset"],
            dataset_split=SPLIT,
            dataset_revision=own.revision if own else row["data"] or None,
            metric_type=row["metric"],
            metric_name=row["metric"].replace("_", " "),
            metric_value=round(row["value"], 4),
            metric_args={"interval_95": [round(row["low"], 4), round(row["high"], 4)]}
            if pd.notna(row["low"])
            else None,
        )


def hub_card(card: str, name: str, scores: pd.DataFrame, sections: Mapping[str, str]) -> str:
    """Return a training's card with the test scores and their 95% intervals, as the hub reads them, and more sections.

    Args:
        card: The card of the training.
        name: Name of the model in the evaluation results.
        scores: Rows of test scores, as `main_rows` gives them; may be empty.
        sections: Text of further sections by their titles, for the end of the card.
    """
    from huggingface_hub import RepoCard
    from huggingface_hub.repocard_data import eval_results_to_model_index

    training_card = RepoCard(card)
    front, body = training_card.data.to_dict(), training_card.text
    if not scores.empty:
        front["model-index"] = eval_results_to_model_index(name, list(card_results(scores)))
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
