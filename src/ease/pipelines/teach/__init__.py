"""Teach an encoder a language from its Wikipedia, and report what was gained and lost."""

from ease.pipelines.teach.options import TEACH
from ease.pipelines.teach.pipeline import METHOD, create_pipeline

__all__ = ["METHOD", "TEACH", "create_pipeline"]
