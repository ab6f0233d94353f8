"""Wiring of `report`."""

from collections.abc import Sequence

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.report.nodes import compare_curves, compare_scores
from ease.pipelines.train import UNTRAINED


def create_pipeline(setting: str, methods: Sequence[str]) -> Pipeline:
    """Create `report` over the methods of one setting and the encoder that they start from."""
    compared = (UNTRAINED, *methods)
    return pipeline(
        [
            node(
                compare_scores,
                {method: f"{method}_scores" for method in compared},
                ["comparison", "comparison_plot"],
                name="compare_scores",
            ),
            node(
                compare_curves,
                {method: f"{method}_history" for method in methods},
                "curves_plot",
                name="compare_curves",
            ),
        ],
        namespace=setting,
        inputs={
            **{f"{method}_scores": f"{setting}.{method}.scores" for method in compared},
            **{f"{method}_history": f"{setting}.{method}.history" for method in methods},
        },
        tags="report",
    )
