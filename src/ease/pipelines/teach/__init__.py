"""Teach an encoder a language from its Wikipedia, and report what was gained and lost."""

from ease.pipelines.teach.pipeline import create_pipeline

__all__ = ["create_pipeline"]
