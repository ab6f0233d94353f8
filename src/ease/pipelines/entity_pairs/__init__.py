"""Turn links into sentence–entity pairs, filtered and sampled."""

from ease.pipelines.entity_pairs.pipeline import create_pipeline

__all__ = ["create_pipeline"]
