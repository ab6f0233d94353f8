"""Wiring of `report`."""

from collections.abc import Sequence

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.report.nodes import compare_curves, compare_scores
from ease.pipelines.train import UNTRAINED



def create_pipeline(setting: str, methods: Sequence[str]) -> Pipeline:
    """Create `report` over the methods of one setting and the encoder that they start from."""
    return pipeline(
        [
            node(
                compare_scores,
                {method: f"{method}.scores" for method in (UNTRAINED, *methods)},
                ["comparison", "comparison_plot"],
                name="compare_scores",
                tags="report",
            ),
            node(
                compare_curves,
                {method: f"{method}.history" for method in methods},
                "curves_plot",
                name="compare_curves",
                tags="report",
            ),
        ],
        namespace=setting,
    )
