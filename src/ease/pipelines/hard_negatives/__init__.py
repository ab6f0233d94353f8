"""Add hard negatives to the pairs of a setting."""

from ease.pipelines.hard_negatives.pipeline import create_pipeline as create_pipeline
