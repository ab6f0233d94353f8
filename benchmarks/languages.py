"""Teach an encoder several languages, each alone, and print a row for each: its Wikipedia, what was gained and kept.

    python -m benchmarks.languages csb gsw --params "teach.encoder=ENCODER,acquire.wikipedia=FOLDER"

It runs in a project's folder, whose teaching results it replaces; `acquire_evaluation.folder` is that of Tatoeba.
docs/languages.md is made from its output.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from benchmarks.common import command_line_parser, print_head, print_row
from ease.reporting.teaching import NEW_LANGUAGE, OLD_LANGUAGE

REPORTING = Path("data/08_reporting/teach")
HEADS = (
    "language",
    "articles",
    "links",
    "resolved, %",
    "names",
    "letters",
    "Tatoeba",
    "Tatoeba, others",
    "audit",
    "kept, %",
    "minutes",
)


class Teaching(NamedTuple):
    """The newest results of `teach` in a project."""

    languages: pd.DataFrame
    """Counts of ingestion by language"""
    respelling: Mapping[str, Any]
    scores: pd.DataFrame
    """As `compare_before_after` returns them"""


def newest(dataset: Path) -> Path:
    """Return the file of a dataset's newest version; versions are times."""
    return max(dataset.glob(f"*/{dataset.name}"))


def read_teaching(project: Path) -> Teaching:
    """Read what the last run of `teach` has written."""
    summary = json.loads(newest(project / REPORTING / "ingest_summary.json").read_text(encoding="utf-8"))
    respelling = newest(project / "data/07_model_output/teach/respelling.json").read_text(encoding="utf-8")
    scores = pd.read_parquet(newest(project / REPORTING / "teaching_scores.parquet"))
    return Teaching(pd.DataFrame(summary["languages"]).set_index("language"), json.loads(respelling), scores)


def language_row(language: str, teaching: Teaching, seconds: float) -> tuple[str, ...]:
    """Return the cells of a language's row, in the order of `HEADS`."""
    counts = teaching.languages.loc[language]
    letters = (f"{gain['letter']}→{gain['replacement']}" for gain in teaching.respelling["letters"])
    kept = teaching.respelling["kept"]
    return (
        language,
        f"{int(counts['kept']):,}",
        f"{int(counts['links']):,}",
        f"{100 * counts['links_resolved'] / max(counts['links'], 1):.0f}",
        f"{teaching.respelling['names']:,}",
        " ".join(letters) if teaching.respelling["pieces"] else "none",
        _change(teaching.scores, "tatoeba", NEW_LANGUAGE),
        _change(teaching.scores, "tatoeba", OLD_LANGUAGE),
        _change(teaching.scores, "audit", NEW_LANGUAGE),
        "" if kept is None else f"{kept:.1f}",
        f"{seconds / 60:.0f}",
    )


def _change(scores: pd.DataFrame, task: str, kind: str) -> str:
    """Return the mean score of a task's subsets before and after; empty if none was scored."""
    rows = scores[(scores["task"] == task) & (scores["kind"] == kind)]
    if rows.empty:
        return ""
    return f"{rows['before'].mean():.1f} → {rows['after'].mean():.1f}"


def main() -> None:
    """Teach the languages of the command line."""
    parser = command_line_parser(__doc__)
    parser.add_argument("languages", nargs="+", metavar="LANGUAGE", help="code of a Wikipedia")
    parser.add_argument("--params", default="", help="further parameters of `kedro run`")
    arguments = parser.parse_args()
    print_head(*HEADS)
    for language in arguments.languages:
        parameters = ",".join(filter(None, (f"teach.language={language},teach.accept=true", arguments.params)))
        began = time.monotonic()
        command = [sys.executable, "-m", "kedro", "run", "--pipelines=teach", f"--params={parameters}"]
        subprocess.run(command, check=True)
        print_row(*language_row(language, read_teaching(Path.cwd()), time.monotonic() - began))


if __name__ == "__main__":
    main()
