"""Score the encoders of a setting, and baselines."""

from ease.pipelines.evaluate.pipeline import create_pipeline as create_pipeline
