"""Wiring of `acquire_evaluation`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.acquire_evaluation.nodes import locate_evaluation_sets


def create_pipeline(setting: str) -> Pipeline:
    """Create `acquire_evaluation` for one setting."""
    return pipeline(
        [
            node(
                locate_evaluation_sets,
                ["params:acquire", "params:tasks", "params:setting"],
                "evaluation_data",
                name="locate_evaluation_sets",
            )
        ],
        namespace=setting,
        parameters={"params:acquire", "params:tasks"},
        tags="acquire_evaluation",
    )
