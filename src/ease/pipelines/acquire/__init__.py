"""Locate the dumps at the address of their source; make the sample wiki if the address is `sample:`."""

from ease.pipelines.acquire.pipeline import create_pipeline

__all__ = ["create_pipeline"]
