"""Wikipedia2Vec vectors for the entity vocabulary: trained here, loaded, or random."""

from ease.pipelines.entity_embeddings.pipeline import create_pipeline

__all__ = ["create_pipeline"]
