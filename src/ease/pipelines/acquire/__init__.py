"""Locate or download the dumps of a setting."""

from ease.pipelines.acquire.pipeline import create_pipeline as create_pipeline
