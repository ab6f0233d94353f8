"""Locate or download the evaluation sets of the tasks."""

from ease.pipelines.acquire_evaluation.pipeline import create_pipeline as create_pipeline
