"""Mine parallel sentences among those that share entities or whose pages share an item."""

from ease.pipelines.mine_bitext.pipeline import create_pipeline

__all__ = ["create_pipeline"]
