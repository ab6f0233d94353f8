"""Wiring of `entity_embeddings`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.io.names import UNTRAINED
from ease.pipelines.entity_embeddings.nodes import embed_entities


def create_pipeline(setting: str) -> Pipeline:
    """Create `entity_embeddings` for one setting."""
    return pipeline(
        [
            node(
                embed_entities,
                [
                    *("entity_vocabulary", "sitelinks", "redirects", "dumps", "untrained_encoder"),
                    *("params:entity_embeddings", "params:setting", "params:work"),
                ],
                ["entity_embeddings", "embedding_coverage"],
                name="embed_entities",
            ),
        ],
        namespace=setting,
        inputs={"untrained_encoder": f"{setting}.{UNTRAINED}.encoder"},
        parameters={"params:entity_embeddings", "params:work"},
        tags="entity_embeddings",
    )
