"""Mine parallel sentences of a setting's languages."""

from ease.pipelines.mine_bitext.pipeline import create_pipeline as create_pipeline
