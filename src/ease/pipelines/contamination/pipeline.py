"""Find test texts among a setting's training sentences."""

from __future__ import annotations

from collections.abc import Iterable

from kedro.pipeline import Pipeline

from ease.evaluation.scoring import BASELINES
from ease.methods import UNTRAINED
from ease.pipelines.contamination.nodes import find_contaminated_items, score_clean_items
from ease.pipelines.wiring import namespaced, step


def create_pipeline(setting: str, methods: Iterable[str]) -> Pipeline:
    """Create `contamination` over the training pairs of one setting, and the scores of its methods and of baselines."""
    scores = {method: f"{setting}.{method}.scores" for method in (UNTRAINED, *methods)}
    read = {"contaminated": "contaminated_items", "baselines": f"{BASELINES}.scores", **scores}
    nodes = [
        step(find_contaminated_items, ["contaminated_items", "contamination_matches"]),
        step(score_clean_items, "clean_scores", **read),
    ]
    return namespaced(nodes, setting, "contamination")
