"""Add hard negatives to the pairs of a setting."""

from __future__ import annotations

from kedro.pipeline import Pipeline

from ease.pipelines.hard_negatives.nodes import add_hard_negatives, report_hard_negatives
from ease.pipelines.wiring import namespaced, step

TABLES = {name: name for name in ("sentences", "links", "sitelinks", "entity_types", "entity_vocabulary")}
"""The `tables` of the nodes below"""


def create_pipeline(setting: str) -> Pipeline:
    """Create `hard_negatives` for one setting."""
    nodes = [
        step(add_hard_negatives, "training_pairs", options="params:hard_negatives", **TABLES),
        step(report_hard_negatives, "hard_negative_summary"),
    ]
    return namespaced(nodes, setting, "hard_negatives")
