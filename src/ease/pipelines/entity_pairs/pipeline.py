"""Select the pairs of a setting."""

from __future__ import annotations

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.entity_pairs.nodes import make_pairs, make_vocabulary
from ease.pipelines.setting import MULTILINGUAL


def create_pipeline(setting: str = MULTILINGUAL) -> Pipeline:
    """Create `entity_pairs` for one setting."""
    stage = pipeline(
        [
            node(
                make_vocabulary,
                inputs=["links", "sitelinks", "params:vocabulary", "params:setting"],
                outputs="entity_vocabulary",
                name="make_vocabulary",
            ),
            node(
                make_pairs,
                inputs=[
                    "sentences",
                    "links",
                    "sitelinks",
                    "entity_types",
                    "entity_vocabulary",
                    # They say whether there are items, and types to draw negatives by.
                    "dumps",
                    # An input even if the audit is not excluded: a run that makes both then makes the audit first.
                    "audit_pages",
                    "params:pairs",
                    # `without: drop` drops the pairs that have no hard negative.
                    "params:hard_negatives",
                    "params:setting",
                ],
                outputs=["pairs", "pair_funnel", "pair_funnel_plot"],
                name="make_pairs",
            ),
        ],
        namespace="entity_pairs",
        prefix_datasets_with_namespace=False,
        tags="entity_pairs",
    )
    return pipeline(stage, namespace=setting, parameters={"params:hard_negatives"})
