"""Train an encoder by one method."""

from ease.pipelines.train.pipeline import UNTRAINED, create_encoder_pipeline, create_pipeline

__all__ = ["UNTRAINED", "create_encoder_pipeline", "create_pipeline"]
