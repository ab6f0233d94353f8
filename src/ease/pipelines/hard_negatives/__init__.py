"""Give each pair an entity of the same type that does not appear on its page."""

from ease.pipelines.hard_negatives.pipeline import create_pipeline

__all__ = ["create_pipeline"]
