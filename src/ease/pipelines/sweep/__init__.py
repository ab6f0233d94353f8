"""Train and score variants of the methods: seeds, learning rates, controls."""

from ease.pipelines.sweep.pipeline import create_pipeline as create_pipeline
