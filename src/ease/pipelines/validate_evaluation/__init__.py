"""Compare the scores of published checkpoints with those that their papers print."""

from ease.pipelines.validate_evaluation.pipeline import create_pipeline

__all__ = ["create_pipeline"]
