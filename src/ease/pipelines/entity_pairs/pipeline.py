"""Select the pairs of a setting."""

from __future__ import annotations

from kedro.pipeline import Pipeline

from ease.pipelines.entity_pairs.nodes import make_pairs, make_vocabulary
from ease.pipelines.wiring import namespaced, step

TABLES = {name: name for name in ("sentences", "links", "sitelinks", "entity_types", "entity_vocabulary")}
"""The `tables` of the nodes below"""


def create_pipeline(setting: str) -> Pipeline:
    """Create `entity_pairs` for one setting."""
    # The audit is an input even if it is not excluded: Kedro then makes it first in a run that makes both.
    read = {"options": "params:pairs", "negatives": "params:hard_negatives", **TABLES}
    nodes = [
        step(make_vocabulary, "entity_vocabulary", options="params:vocabulary"),
        step(make_pairs, ["pairs", "pair_funnel", "pair_funnel_plot"], **read),
    ]
    return namespaced(nodes, setting, "entity_pairs")
