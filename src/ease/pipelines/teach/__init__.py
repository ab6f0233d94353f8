"""Teach an encoder a language from its Wikipedia."""

from ease.pipelines.teach.pipeline import create_pipeline as create_pipeline
