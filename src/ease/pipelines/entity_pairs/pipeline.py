"""Wiring of `entity_pairs`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.entities.pairs import select_pairs
from ease.pipelines.entity_pairs.nodes import build_vocabulary, report_filters


def create_pipeline(setting: str) -> Pipeline:
    """Create `entity_pairs` for one setting."""
    return pipeline(
        [
            node(
                build_vocabulary,
                ["links", "sitelinks", "params:vocabulary", "params:setting"],
                "entity_vocabulary",
                name="build_vocabulary",
            ),
            node(
                report_filters,
                ["sentences", "links", "entity_vocabulary", "params:pairs"],
                ["pair_funnel", "pair_funnel_plot"],
                name="report_filters",
            ),
            node(
                select_pairs,
                ["sentences", "links", "entity_vocabulary", "params:pairs"],
                "pairs",
                name="select_pairs",
            ),
        ],
        namespace=setting,
        tags="entity_pairs",
    )
