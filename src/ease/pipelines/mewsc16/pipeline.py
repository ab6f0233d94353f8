"""Build MewsC-16 from Wikinews dumps."""

from __future__ import annotations

from kedro.pipeline import Pipeline

from ease.pipelines.mewsc16.nodes import compare_statistics, locate_wikinews, make_mewsc16
from ease.pipelines.wiring import step


def create_pipeline() -> Pipeline:
    """Create `mewsc16`, which belongs to no setting."""
    options = "params:mewsc16"
    statistics = ["mewsc16_statistics", "mewsc16_plot"]
    nodes = [
        step(locate_wikinews, "wikinews_dumps", options=options),
        step(make_mewsc16, ["mewsc16", "mewsc16_counts"], found="wikinews_dumps", options=options),
        step(compare_statistics, statistics, counts="mewsc16_counts", options=options),
    ]
    return Pipeline(nodes, tags="mewsc16")
