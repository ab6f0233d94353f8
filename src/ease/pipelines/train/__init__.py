"""Train an encoder by one method."""

from ease.pipelines.train.pipeline import create_pipeline

__all__ = ["create_pipeline"]
