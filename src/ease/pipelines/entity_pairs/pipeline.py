"""Wiring of `entity_pairs`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.entity_pairs.nodes import build_vocabulary, report_filters, select_pairs

TABLES = ("sentences", "links", "sitelinks", "entity_types", "entity_vocabulary")


def create_pipeline(setting: str) -> Pipeline:
    """Create `entity_pairs` for one setting."""
    # The audit is an input even if it is not excluded: Kedro then makes it first in a run that makes both.
    given = [*TABLES, "dumps", "params:pairs", "params:hard_negatives", "params:setting", "audit_pages"]
    return pipeline(
        [
            node(
                build_vocabulary,
                ["links", "sitelinks", "dumps", "params:vocabulary", "params:setting"],
                "entity_vocabulary",
                name="build_vocabulary",
            ),
            node(
                report_filters,
                given,
                ["pair_funnel", "pair_funnel_plot"],
                name="report_filters",
            ),
            node(
                select_pairs,
                given,
                "pairs",
                name="select_pairs",
            ),
        ],
        namespace=setting,
        parameters={"params:hard_negatives"},
        tags="entity_pairs",
    )
