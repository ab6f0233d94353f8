"""Build MewsC-16 from Wikinews dumps, and compare its statistics with the paper's."""

from ease.pipelines.mewsc16.pipeline import create_pipeline

__all__ = ["create_pipeline"]
