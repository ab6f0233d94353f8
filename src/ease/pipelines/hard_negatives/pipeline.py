"""Wiring of `hard_negatives`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.hard_negatives.nodes import count_hard_negatives, mine_hard_negatives

TABLES = ("pairs", "links", "sentences", "sitelinks", "entity_types", "entity_vocabulary")


def create_pipeline(setting: str) -> Pipeline:
    """Create `hard_negatives` for one setting."""
    return pipeline(
        [
            node(
                mine_hard_negatives,
                [*TABLES, "dumps", "params:hard_negatives"],
                "training_pairs",
                name="mine_hard_negatives",
            ),
            node(
                count_hard_negatives,
                ["pairs", "training_pairs"],
                "hard_negative_summary",
                name="count_hard_negatives",
            ),
        ],
        namespace=setting,
        parameters={"params:hard_negatives"},
        tags="hard_negatives",
    )
