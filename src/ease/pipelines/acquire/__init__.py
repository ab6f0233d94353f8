"""Find the dumps at the sources' addresses; make the sample wiki where the address is `sample:`."""

from ease.pipelines.acquire.pipeline import create_pipeline

__all__ = ["create_pipeline"]
