"""Lay out the evaluation sets that the tasks read."""

from ease.pipelines.acquire_evaluation.pipeline import create_pipeline

__all__ = ["create_pipeline"]
