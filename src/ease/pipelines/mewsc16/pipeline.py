"""Build MewsC-16 from Wikinews dumps."""

from __future__ import annotations

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.mewsc16.nodes import compare_statistics, locate_wikinews, make_mewsc16


def create_pipeline() -> Pipeline:
    """Create `mewsc16`, which belongs to no setting."""
    return pipeline(
        [
            node(
                locate_wikinews,
                inputs=["params:mewsc16", "params:acquire"],
                outputs="wikinews_dumps",
                name="locate_wikinews",
            ),
            node(
                make_mewsc16,
                inputs=["wikinews_dumps", "params:mewsc16"],
                outputs=["mewsc16", "mewsc16_counts"],
                name="make_mewsc16",
            ),
            node(
                compare_statistics,
                inputs=["mewsc16_counts", "params:mewsc16"],
                outputs=["mewsc16_statistics", "mewsc16_plot"],
                name="compare_statistics",
            ),
        ],
        tags="mewsc16",
    )
