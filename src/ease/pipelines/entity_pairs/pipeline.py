"""Wiring of `entity_pairs`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.entity_pairs.nodes import make_pairs, make_vocabulary

TABLES = ("sentences", "links", "sitelinks", "entity_types", "entity_vocabulary")


def create_pipeline(setting: str) -> Pipeline:
    """Create `entity_pairs` for one setting."""
    vocabulary = ["links", "sitelinks", "dumps", "params:vocabulary", "params:setting"]
    # In the order of the function's arguments: Kedro finds the types of parameters by their places.
    given = {"dumps": "dumps", "options": "params:pairs", "negatives": "params:hard_negatives"}
    given["setting"] = "params:setting"
    # The audit is an input even if it is not excluded: Kedro then makes it first in a run that makes both.
    given |= {table: table for table in ("audit_pages", *TABLES)}
    made = ["pairs", "pair_funnel", "pair_funnel_plot"]
    return pipeline(
        [
            node(make_vocabulary, vocabulary, "entity_vocabulary", name="make_vocabulary"),
            node(make_pairs, given, made, name="make_pairs"),
        ],
        namespace=setting,
        parameters={"params:hard_negatives"},
        tags="entity_pairs",
    )
