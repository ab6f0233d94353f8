"""How the encoder of scores embedded texts, in words."""

from __future__ import annotations

import pandas as pd

ENCODING = (
    "revision",
    "used_pooling",
    "normalized",
    "embedding_dimension",
    "precision",
    "max_length",
    "prompt",
)
"""Columns of rows of scores that say how texts were embedded."""

SHOWN = 12
"""Digits of a commit that are shown."""


def encoding_text(rows: pd.DataFrame) -> str:
    """Return pooling, normalisation, dimension, precision, length, commit and prompts; empty if they are not recorded.

    Args:
        rows: Rows of scores of one encoder, with the columns `ENCODING` and `task`.
    """
    known = rows.dropna(subset=["embedding_dimension"])
    if known.empty:
        return ""
    row = known.iloc[-1]
    parts = [
        f"{row['used_pooling']} pooling" if _given(row["used_pooling"]) else "",
        "normalized" if _given(row["normalized"]) and row["normalized"] else "",
        f"{int(row['embedding_dimension'])} dimensions",
        str(row["precision"]) if _given(row["precision"]) else "",
        f"at most {int(row['max_length'])} tokens" if _given(row["max_length"]) else "",
        f"commit {str(row['revision'])[:SHOWN]}" if _given(row["revision"]) else "",
    ]
    return "; ".join(filter(None, [", ".join(filter(None, parts)), _prompts(known)]))


def _prompts(rows: pd.DataFrame) -> str:
    """Return each prompt with its tasks, or the prompt alone if all tasks have the same one."""
    tasks: dict[str, list[str]] = {}
    for task, prompt in rows[["task", "prompt"]].drop_duplicates().itertuples(index=False):
        tasks.setdefault(prompt if _given(prompt) else "", []).append(str(task))
    if len(tasks) == 1:
        return "".join(f"prompt “{prompt}”" for prompt in tasks if prompt)
    return "; ".join(f"prompt “{prompt}” ({', '.join(names)})" for prompt, names in tasks.items() if prompt)


def _given(value: object) -> bool:
    return bool(pd.notna(value)) and value != ""
