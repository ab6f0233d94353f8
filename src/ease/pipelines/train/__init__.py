"""Train an encoder with one method of a setting."""

from ease.pipelines.train.pipeline import create_pipeline as create_pipeline
