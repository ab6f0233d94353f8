"""Make the audit of a setting."""

from ease.pipelines.audit.pipeline import create_pipeline as create_pipeline
