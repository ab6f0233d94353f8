"""Give each pair an entity of the same type that its page never links to."""

from ease.pipelines.hard_negatives.pipeline import create_pipeline

__all__ = ["create_pipeline"]
