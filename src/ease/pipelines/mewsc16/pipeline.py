"""Wiring of `mewsc16`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.mewsc16.nodes import compare_statistics, locate_wikinews, make_mewsc16


def create_pipeline() -> Pipeline:
    """Create `mewsc16`, which belongs to no setting."""
    located, built = ["params:mewsc16", "params:acquire"], ["wikinews_dumps", "params:mewsc16"]
    counted, compared = ["mewsc16_counts", "params:mewsc16"], ["mewsc16_statistics", "mewsc16_plot"]
    return pipeline(
        [
            node(locate_wikinews, located, "wikinews_dumps", name="locate_wikinews"),
            node(make_mewsc16, built, ["mewsc16", "mewsc16_counts"], name="make_mewsc16"),
            node(compare_statistics, counted, compared, name="compare_statistics"),
        ],
        tags="mewsc16",
    )
