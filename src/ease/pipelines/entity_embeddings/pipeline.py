"""Wiring of `entity_embeddings`."""

from kedro.pipeline import Pipeline, node, pipeline

from ease.pipelines.entity_embeddings.nodes import embed_entities


def create_pipeline(setting: str) -> Pipeline:
    """Create `entity_embeddings` for one setting."""
    return pipeline(
        [
            node(
                embed_entities,
                ["entity_vocabulary", "dumps", "untrained.encoder", "params:entity_embeddings"],
                ["entity_embeddings", "embedding_coverage"],
                name="embed_entities",
            ),
        ],
        namespace=setting,
        parameters={"params:entity_embeddings"},
        tags="entity_embeddings",
    )
