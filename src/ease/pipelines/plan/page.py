"""The page and the table of a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from ease.pipelines.plan.costs import Cost
from ease.reporting.markdown_tables import format_table


def render_costs(costs: Sequence[Cost]) -> str:
    """Return a Markdown table of the costs with their total; of memory, the largest."""
    table = pd.DataFrame([cost.row() for cost in costs])
    total = {"stage": "total", "amount": "", "hours": table["hours"].sum(), "disk_gb": table["disk_gb"].sum()}
    table = pd.concat([table, pd.DataFrame([{**total, "memory_gb": table["memory_gb"].max()}])])
    return format_table(table, decimals=3)


def render_plan(job: str, facts: Mapping[str, str], costs: str, there: Sequence[str]) -> str:
    """Return the page of a plan in Markdown.

    Args:
        job: The planned pipeline.
        facts: Facts by their names.
        costs: The table of the costs.
        there: What exists already.
    """
    listed = "\n".join(f"- {key}: {fact}" for key, fact in facts.items())
    existing = "\n".join(f"- {line}" for line in there) or "Nothing."
    return "\n\n".join([f"# Plan of {job}", listed, costs, "## There already", existing]) + "\n"
