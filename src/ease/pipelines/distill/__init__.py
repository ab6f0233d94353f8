"""Train small encoders to reproduce a large one, and score them."""

from ease.pipelines.distill.pipeline import STUDENTS, create_pipeline

__all__ = ["STUDENTS", "create_pipeline"]
