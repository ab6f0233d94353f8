"""Wiring of `train`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.mlflow_runs import TRAINING_TAG
from ease.pipelines.train.nodes import build_encoder, train_encoder

UNTRAINED = "untrained"
SHARED = ("training_pairs", "entity_vocabulary", "entity_embeddings", "evaluation_data", "dumps")


def create_encoder_pipeline(setting: str) -> Pipeline:
    """Create the encoder that every method of a setting starts from."""
    return pipeline(
        [
            node(
                build_encoder, ["sentences", "params:setting", "params:work"], "encoder", name="build_encoder"
            )
        ],
        namespace=f"{setting}.{UNTRAINED}",
        inputs={"sentences": f"{setting}.sentences"},
        parameters={"params:setting": f"params:{setting}.setting", "params:work": "params:work"},
        tags="entity_embeddings",  # which fit the encoder's dimension
    )


def create_pipeline(setting: str, method: str) -> Pipeline:
    """Create `train` for one method of one setting."""
    return pipeline(
        [
            node(
                train_encoder,
                ["start", *SHARED, "params:recipe", "params:setting", "params:tasks", "params:work"],
                ["encoder", "history"],
                name="train_encoder",
                tags=TRAINING_TAG,
            )
        ],
        namespace=f"{setting}.{method}",
        inputs={"start": f"{setting}.{UNTRAINED}.encoder", **{name: f"{setting}.{name}" for name in SHARED}},
        parameters={
            "params:recipe": f"params:{setting}.{method}",
            "params:setting": f"params:{setting}.setting",
            "params:tasks": "params:tasks",
            "params:work": "params:work",
        },
        tags="train",
    )
