"""Mine parallel sentences of a setting's languages."""

from __future__ import annotations

from kedro.pipeline import Pipeline

from ease.pipelines.mine_bitext.nodes import find_bitext_candidates, mine_pairs
from ease.pipelines.setting import EASE_PLUS
from ease.pipelines.wiring import namespaced, step


def create_pipeline(setting: str) -> Pipeline:
    """Create `mine_bitext` over the ingested sentences of one setting, by its newest encoder of EASE+."""
    options, made = {"options": "params:mine_bitext"}, ["bitext_sentences", "bitext_candidates"]
    given = {"sentences": made[0], "candidates": made[1], "encoder": f"{setting}.{EASE_PLUS}.encoder"}
    nodes = [
        step(find_bitext_candidates, made, **options),
        step(mine_pairs, ["bitext", "bitext_report"], **given, **options),
    ]
    return namespaced(nodes, setting, "mine_bitext")
