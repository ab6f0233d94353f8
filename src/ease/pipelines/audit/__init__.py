"""Make a test set of sentence pairs from links alone."""

from ease.pipelines.audit.pipeline import create_pipeline

__all__ = ["create_pipeline"]
