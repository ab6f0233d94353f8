"""Select the pairs of a setting."""

from ease.pipelines.entity_pairs.pipeline import create_pipeline as create_pipeline
