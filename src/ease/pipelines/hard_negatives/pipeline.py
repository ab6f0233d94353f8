"""Add hard negatives to the pairs of a setting."""

from __future__ import annotations

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.hard_negatives.nodes import add_hard_negatives, report_hard_negatives
from ease.pipelines.setting import MULTILINGUAL


def create_pipeline(setting: str = MULTILINGUAL) -> Pipeline:
    """Create `hard_negatives` for one setting."""
    stage = pipeline(
        [
            node(
                add_hard_negatives,
                inputs=[
                    "pairs",
                    # Their pages' subjects are no negatives.
                    "sentences",
                    # Entities that a page links to cannot be negatives either.
                    "links",
                    "sitelinks",
                    "entity_types",
                    "entity_vocabulary",
                    # Without Wikidata's types, pairs have no hard negative.
                    "dumps",
                    "params:hard_negatives",
                ],
                outputs="training_pairs",
                name="add_hard_negatives",
            ),
            node(
                report_hard_negatives,
                inputs=["pairs", "training_pairs"],
                outputs="hard_negative_summary",
                name="report_hard_negatives",
            ),
        ],
        namespace="hard_negatives",
        prefix_datasets_with_namespace=False,
        tags="hard_negatives",
    )
    return pipeline(stage, namespace=setting, parameters={"params:hard_negatives"})
