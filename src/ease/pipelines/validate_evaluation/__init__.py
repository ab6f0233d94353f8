"""Compare scores of published checkpoints with the papers'."""

from ease.pipelines.validate_evaluation.pipeline import create_pipeline as create_pipeline
