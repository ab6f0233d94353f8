"""Find test texts among the training sentences, and score encoders without them."""

from ease.pipelines.contamination.pipeline import create_pipeline

__all__ = ["create_pipeline"]
