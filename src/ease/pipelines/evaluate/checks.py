"""Checks before `evaluate`: the tasks' sets, and whether there is anything to score."""

from __future__ import annotations

from kedro.pipeline.node import Node

from ease.errors import EaseError
from ease.pipelines.acquire_evaluation.checks import check_scored_tasks
from ease.pipelines.checks import PlannedRun
from ease.pipelines.evaluate.nodes import score_baselines, score_encoder
from ease.pipelines.options import EvaluateOptions


def check_encoders(node: Node, run: PlannedRun) -> None:
    """Refuse to score if nothing is trained and no baseline is named."""
    scoring_nodes = [run_node for run_node in run.pipeline.nodes if run_node.func in CHECKS]
    encoders = [name for scoring in scoring_nodes for name in scoring.inputs if name.endswith(".encoder")]
    # A version that does not exist is another fault, which names the version.
    names_version = any(getattr(run.catalog.get(name), "chosen_version", None) for name in encoders)
    if not names_version and not any(map(run.has, encoders)) and not run.options(node, EvaluateOptions).baselines:
        raise EaseError(
            "No encoder is trained, and `evaluate.baselines` names none: train by `kedro run "
            "--pipelines=train_multilingual`, or name one."
        )


CHECKS = {
    score_encoder: [check_encoders, check_scored_tasks],
    score_baselines: [check_encoders, check_scored_tasks],
}
