"""Find test texts among a setting's training sentences."""

from ease.pipelines.contamination.pipeline import create_pipeline as create_pipeline
