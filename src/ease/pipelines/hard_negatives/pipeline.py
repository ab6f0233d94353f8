"""Wiring of `hard_negatives`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.hard_negatives.nodes import add_hard_negatives, report_hard_negatives

TABLES = ("links", "sentences", "sitelinks", "entity_types", "entity_vocabulary")


def create_pipeline(setting: str) -> Pipeline:
    """Create `hard_negatives` for one setting."""
    given = {"pairs": "pairs", "dumps": "dumps", "options": "params:hard_negatives"}
    given |= {table: table for table in TABLES}
    counted = ["pairs", "training_pairs"]
    return pipeline(
        [
            node(add_hard_negatives, given, "training_pairs", name="add_hard_negatives"),
            node(report_hard_negatives, counted, "hard_negative_summary", name="report_hard_negatives"),
        ],
        namespace=setting,
        parameters={"params:hard_negatives"},
        tags="hard_negatives",
    )
