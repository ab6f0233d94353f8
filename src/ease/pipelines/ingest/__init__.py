"""Parse dumps into sentences, links, redirects, sitelinks and entity types."""

from ease.pipelines.ingest.pipeline import create_pipeline

__all__ = ["create_pipeline"]
