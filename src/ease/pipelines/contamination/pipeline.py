"""Wiring of `contamination`."""

from collections.abc import Sequence

from kedro.pipeline import Pipeline, node, pipeline

from ease.io.names import BASELINES, UNTRAINED
from ease.pipelines.contamination.nodes import find_contaminated_items, score_clean_items


def create_pipeline(setting: str, methods: Sequence[str]) -> Pipeline:
    """Create `contamination` over the training pairs of one setting, and the scores of its methods and of baselines."""
    scored = (UNTRAINED, *methods)
    given = [
        "training_pairs",
        "evaluation_data",
        *(f"params:{name}" for name in ("tasks", "setting", "evaluate")),
    ]
    return pipeline(
        [
            node(
                find_contaminated_items,
                [*given, "params:contamination"],
                ["contaminated_items", "contamination_matches"],
                name="find_contaminated_items",
            ),
            node(
                score_clean_items,
                {
                    "contaminated": "contaminated_items",
                    "encoding": "params:encoding",
                    "baselines": "baseline_scores",
                    **{method: f"{method}_scores" for method in scored},
                },
                "clean_scores",
                name="score_clean_items",
            ),
        ],
        namespace=setting,
        inputs={
            "baseline_scores": f"{BASELINES}.scores",
            **{f"{method}_scores": f"{setting}.{method}.scores" for method in scored},
        },
        parameters={
            f"params:{name}": f"params:{name}" for name in ("tasks", "evaluate", "encoding", "contamination")
        },
        tags="contamination",
    )
