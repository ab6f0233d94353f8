"""Locate or download the dumps; generate the sample wiki if the source is `sample:`."""

from ease.pipelines.acquire.pipeline import create_pipeline

__all__ = ["create_pipeline"]
