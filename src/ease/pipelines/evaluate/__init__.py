"""Score encoders on the setting's tasks."""

from ease.pipelines.evaluate.pipeline import create_pipeline

__all__ = ["create_pipeline"]
