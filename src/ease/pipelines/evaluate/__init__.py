"""Score encoders on evaluation tasks."""

from ease.pipelines.evaluate.pipeline import create_baselines_pipeline, create_pipeline

__all__ = ["create_baselines_pipeline", "create_pipeline"]
