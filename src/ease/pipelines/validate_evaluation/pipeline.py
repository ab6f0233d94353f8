"""Compare scores of published checkpoints with the papers'."""

from __future__ import annotations

from kedro.pipeline import Pipeline

from ease.pipelines.validate_evaluation.nodes import PAPER_TABLES, locate_printed_sets, name_differences, score_printed
from ease.pipelines.wiring import namespaced, step


def create_pipeline() -> Pipeline:
    """Create the comparison of the baselines' scores with the papers' printed ones."""
    sets, options = "params:acquire_evaluation", "params:validate_evaluation"
    nodes = [
        step(locate_printed_sets, "evaluation_data", tags="acquire_evaluation", sets=sets, published=PAPER_TABLES),
        step(score_printed, "scores", tags="evaluate", published=PAPER_TABLES),
        step(name_differences, "differences", tags="report", options=options, published=PAPER_TABLES),
    ]
    return namespaced(nodes, "validation")
