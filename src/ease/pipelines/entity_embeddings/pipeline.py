"""Make the encoder that the methods of a setting start from, and the initial entity embeddings."""

from __future__ import annotations

from kedro.pipeline import Pipeline, node, pipeline

from ease.methods import UNTRAINED
from ease.pipelines.entity_embeddings.nodes import make_entity_embeddings, make_start_encoder
from ease.pipelines.setting import MULTILINGUAL


def create_pipeline(setting: str = MULTILINGUAL) -> Pipeline:
    """Create `entity_embeddings` for one setting."""
    # The encoder is here since the embeddings need its dimension.
    encoder = pipeline(
        [
            node(
                make_start_encoder,
                inputs=["sentences", "params:setting", "params:work"],
                outputs="encoder",
                name="make_start_encoder",
            ),
        ],
        namespace=f"{setting}.{UNTRAINED}",
        inputs={"sentences": f"{setting}.sentences"},
        parameters={"params:setting": f"params:{setting}.setting", "params:work": "params:work"},
        tags="entity_embeddings",
    )
    return encoder + create_embeddings(setting, project_options=True)


def create_embeddings(setting: str, project_options: bool) -> Pipeline:
    """Create the entity embeddings of a setting, with the project's options or with the setting's own."""
    stage = pipeline(
        [
            node(
                make_entity_embeddings,
                inputs=[
                    "entity_vocabulary",
                    "sitelinks",
                    # A page may have been moved between the dump of the vectors and this one.
                    "redirects",
                    # Wikipedia2Vec is trained on one of them.
                    "dumps",
                    # For the dimension.
                    "start_encoder",
                    "params:entity_embeddings",
                    "params:setting",
                    "params:work",
                ],
                outputs=["entity_embeddings", "embedding_coverage"],
                name="make_entity_embeddings",
            ),
        ],
        namespace="entity_embeddings",
        prefix_datasets_with_namespace=False,
        tags="entity_embeddings",
    )
    shared = {"params:work"}
    if project_options:
        shared.add("params:entity_embeddings")
    encoder = f"{setting}.{UNTRAINED}.encoder"
    return pipeline(stage, namespace=setting, inputs={"start_encoder": encoder}, parameters=shared)
