"""Publish a trained encoder, or MewsC-16, as a folder for the Hugging Face hub."""

from ease.pipelines.publish.pipeline import create_pipeline

__all__ = ["create_pipeline"]
