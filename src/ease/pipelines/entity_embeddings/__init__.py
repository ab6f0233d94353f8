"""Make the initial entity embeddings of a setting."""

from ease.pipelines.entity_embeddings.pipeline import create_pipeline as create_pipeline
