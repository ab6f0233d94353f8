"""Compare the methods of a setting, and all scores with the published ones."""

from ease.pipelines.report.pipeline import create_pipeline, create_report_pipeline

__all__ = ["create_pipeline", "create_report_pipeline"]
