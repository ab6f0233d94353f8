"""Parse the dumps of a setting into tables."""

from ease.pipelines.ingest.pipeline import create_pipeline as create_pipeline
