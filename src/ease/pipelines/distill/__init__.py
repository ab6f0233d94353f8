"""Train small encoders to reproduce a large one, and score them."""

from ease.pipelines.distill.pipeline import create_pipeline as create_pipeline
