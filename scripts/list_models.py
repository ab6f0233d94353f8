"""Add published models to the list that `ease.load` reads, and write docs/models.md from it.

Usage: list_models.py [FOLDER ...]. A FOLDER is one that the pipeline `publish` has written and pushed to the hub;
others are skipped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ease.encoders.api import PUBLISHED
from ease.encoders.model_card import with_section
from ease.io.files import read_json

PAGE = Path(__file__).parents[1] / "docs" / "models.md"
NONE = "No model has been published yet."
HEADER = "| name | base | languages | scores with 95% intervals | licence | hours |\n|---|---|---|---|---|---:|"


def main(folders: Sequence[str], published: Path = PUBLISHED, page: Path = PAGE) -> None:
    """Update the list and the page."""
    rows = {row["name"]: row for row in json.loads(published.read_text(encoding="utf-8"))}
    for folder in map(Path, folders):
        about = read_json(folder / "publish.json") or {}
        if about.get("commit") and about["what"] == "model":
            rows[about["listed"]["name"]] = about["listed"]
        else:
            sys.stderr.write(f"{folder} is skipped: it is no model that was pushed to the hub\n")
    listed = [rows[name] for name in sorted(rows)]
    published.write_text(json.dumps(listed, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    table = "\n".join([HEADER, *map(table_row, listed)]) if listed else NONE
    page.write_text(with_section(page.read_text(encoding="utf-8"), "Models", table), encoding="utf-8")


def table_row(row: dict[str, Any]) -> str:
    """Return a model's row in the table of the page."""
    name = f"[`{row['name']}`](https://huggingface.co/{row['repository']})"
    scores = "<br>".join(map(score, row["scores"])) or "none"
    hours = "" if row["hours"] is None else f"{row['hours']:.2f}"
    return f"| {name} | {row['base']} | {' '.join(row['languages'])} | {scores} | {row['licence']} | {hours} |"


def score(row: dict[str, Any]) -> str:
    """Return a score in points with its interval."""
    interval = "" if row["low"] is None else f" ({row['low']:.1f} to {row['high']:.1f})"
    note = f"; {row['note']}" if row["note"] else ""
    return f"`{row['task']}/{row['subset']}` {row['value']:.1f}{interval}{note}"


if __name__ == "__main__":
    main(sys.argv[1:])
