"""Train an encoder with one method."""

from ease.pipelines.train.nodes import WHITENING
from ease.pipelines.train.pipeline import create_encoder_pipeline, create_pipeline

__all__ = ["WHITENING", "create_encoder_pipeline", "create_pipeline"]
