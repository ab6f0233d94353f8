"""The card of a published model: metadata that the Hugging Face hub reads, test scores with intervals, other forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd
import yaml

from ease.encoders.model_card import TEST_SCORES, with_section
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
    from huggingface_hub import RepoCard
    from huggingface_hub.repocard_data import eval_results_to_model_index

    training_card = RepoCard(card)
    front, body = training_card.data.to_dict(), training_card.text
    if not scores.empty:
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
