"""Lay out the evaluation sets that the tasks read."""

from ease.pipelines.acquire_evaluation.pipeline import create_baselines_pipeline, create_pipeline

__all__ = ["create_baselines_pipeline", "create_pipeline"]
