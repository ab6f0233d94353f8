"""Compare the scores of a setting's methods, and report those of all settings."""

from ease.pipelines.report.pipeline import create_pipeline as create_pipeline
