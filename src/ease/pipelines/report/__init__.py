"""Compare the methods of a setting in one table and one plot."""

from ease.pipelines.report.pipeline import create_pipeline

__all__ = ["create_pipeline"]
