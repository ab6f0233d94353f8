"""Analyse the embeddings of a setting's encoders."""

from ease.pipelines.analysis.pipeline import create_pipeline

__all__ = ["create_pipeline"]
