"""Wiring of `acquire`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.acquire.nodes import locate_dumps


def create_pipeline(setting: str) -> Pipeline:
    """Create `acquire` for one setting."""
    given = ["params:acquire", "params:setting", "params:pairs"]
    located = node(locate_dumps, given, "dumps", name="locate_dumps")
    return pipeline([located], namespace=setting, parameters={"params:acquire"}, tags="acquire")
