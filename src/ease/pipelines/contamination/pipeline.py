"""Find test texts among a setting's training sentences."""

from __future__ import annotations

from kedro.pipeline import Pipeline, node, pipeline

from ease.evaluation.scoring import BASELINES
from ease.methods import UNTRAINED
from ease.pipelines.contamination.nodes import find_contaminated_items, score_clean_items
from ease.pipelines.setting import MULTILINGUAL, trained_encoders


def create_pipeline(setting: str = MULTILINGUAL) -> Pipeline:
    """Create `contamination` over the training pairs of one setting, and the scores of its methods and of baselines."""
    scores = {method: f"{setting}.{method}.scores" for method in (UNTRAINED, *trained_encoders())}
    nodes = [
        node(
            find_contaminated_items,
            inputs=[
                f"{setting}.training_pairs",
                f"{setting}.evaluation_data",
                "params:tasks",
                f"params:{setting}.setting",
                "params:evaluate",
                "params:contamination",
            ],
            outputs=[f"{setting}.contaminated_items", f"{setting}.contamination_matches"],
            name="find_contaminated_items",
        ),
        node(
            score_clean_items,
            inputs={
                "contaminated": f"{setting}.contaminated_items",
                # Its cache has the scores of single items.
                "encoding": "params:encoding",
                "baselines": f"{BASELINES}.scores",
                **scores,
            },
            outputs=f"{setting}.clean_scores",
            name="score_clean_items",
        ),
    ]
    return pipeline(
        nodes, namespace=f"{setting}.contamination", prefix_datasets_with_namespace=False, tags="contamination"
    )
