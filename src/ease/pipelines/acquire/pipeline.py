"""Wiring of `acquire`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.acquire.nodes import locate_dumps


def create_pipeline(setting: str) -> Pipeline:
    """Create `acquire` for one setting."""
    return pipeline(
        [
            node(
                locate_dumps,
                ["params:acquire", "params:setting", "params:pairs"],
                "dumps",
                name="locate_dumps",
            )
        ],
        namespace=setting,
        parameters={"params:acquire"},
        tags="acquire",
    )
