"""Build MewsC-16 from Wikinews dumps."""

from ease.pipelines.mewsc16.pipeline import create_pipeline as create_pipeline
