"""Wiring of `evaluate`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.evaluate.nodes import score_encoder


def create_pipeline(setting: str, method: str) -> Pipeline:
    """Create `evaluate` for the encoder of one method, or for the `untrained` one."""
    return pipeline(
        [
            node(
                score_encoder,
                ["encoder", "evaluation_data", "params:tasks", "params:setting"],
                "scores",
                name="score_encoder",
            )
        ],
        namespace=f"{setting}.{method}",
        inputs={"evaluation_data": f"{setting}.evaluation_data"},
        parameters={"params:tasks": "params:tasks", "params:setting": f"params:{setting}.setting"},
        tags="evaluate",
    )
