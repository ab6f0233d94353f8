"""Compare a setting's encoders."""

from ease.pipelines.analysis.pipeline import create_pipeline as create_pipeline
