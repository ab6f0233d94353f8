"""Train and score variants of the methods: seeds, learning rates, controls."""

from ease.pipelines.sweep.pipeline import create_pipeline
from ease.pipelines.sweep.variants import Registered, registered_sweeps

__all__ = ["Registered", "create_pipeline", "registered_sweeps"]
