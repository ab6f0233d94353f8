"""The card of a published model: metadata that the Hugging Face hub reads, test scores with intervals, other forms."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import yaml

from ease.encoders.model_card import TEST_SCORES
from ease.reporting.exports import card_results
from ease.reporting.markdown_tables import format_table


class Widget(NamedTuple):
    """An example for the hub's widget: a sentence and others to be compared with it."""

    source: str
    others: tuple[str, ...]


def hub_card(
    card: str,
    name: str,
    scores: pd.DataFrame,
    widgets: Sequence[Widget] = (),
    sections: Mapping[str, str] | None = None,
) -> str:
    """Return a model card with the hub's metadata, the test scores with their 95% intervals, and further sections.

    Args:
        card: The card of the training.
        name: Name of the model in the evaluation results.
        scores: Rows of test scores, as `exports.main_rows` gives them; may be empty.
        widgets: Examples for the widget.
        sections: Text of further sections by their titles, for the end of the card.
    """
    front, body = _parted(card)
    if not scores.empty:
        from huggingface_hub.repocard_data import eval_results_to_model_index

        front["model-index"] = eval_results_to_model_index(name, list(card_results(scores)))
        front["metrics"] = sorted(set(scores["metric"]))
        body = with_section(body, TEST_SCORES, _score_table(scores))
    if widgets:
        front["widget"] = [
            {"source_sentence": widget.source, "sentences": list(widget.others)} for widget in widgets
        ]
    for title, text in (sections or {}).items():
        body = with_section(body, title, text)
    metadata = yaml.safe_dump(front, sort_keys=False, allow_unicode=True)
    return f"---\n{metadata}---\n{body}"


def with_section(body: str, title: str, text: str) -> str:
    """Return Markdown with a section of the second level, which replaces one of the same title."""
    section = f"## {title}\n\n{text.strip()}\n"
    pattern = re.compile(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    if pattern.search(body):
        return pattern.sub(lambda _: f"{section}\n", body, count=1).rstrip("\n") + "\n"
    return f"{body.rstrip()}\n\n{section}"


def _parted(card: str) -> tuple[dict[str, Any], str]:
    """Return the metadata and the Markdown of a card."""
    found = re.match(r"---\n(.*?)^---\n(.*)", card, re.MULTILINE | re.DOTALL)
    if found is None:
        return {}, card
    return yaml.safe_load(found[1]) or {}, found[2]


def _score_table(scores: pd.DataFrame) -> str:
    rows = [
        {
            "test set": f"`{row['task']}/{row['subset']}`",
            "metric": str(row["metric"]).replace("_", " "),
            "points": row["value"],
            "95% interval": f"{row['low']:.2f} to {row['high']:.2f}" if pd.notna(row["low"]) else None,
        }
        for row in scores.sort_values(["task", "subset"]).to_dict("records")
    ]
    return format_table(pd.DataFrame(rows), decimals=2)
