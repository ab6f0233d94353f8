"""Locate or download the evaluation sets of the tasks."""

from ease.pipelines.acquire_evaluation.pipeline import create_baselines_pipeline, create_pipeline

__all__ = ["create_baselines_pipeline", "create_pipeline"]
