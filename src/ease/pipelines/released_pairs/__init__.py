"""Make the training pairs and the vocabulary of a setting from pairs that others have released."""

from ease.pipelines.released_pairs.pipeline import create_pipeline as create_pipeline
