"""Publish an encoder or MewsC-16."""

from ease.pipelines.publish.pipeline import create_pipeline as create_pipeline
