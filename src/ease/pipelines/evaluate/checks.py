"""Checks before `evaluate`: the tasks' sets, and whether there is anything to score."""

from __future__ import annotations

from collections.abc import Sequence

from kedro.pipeline.node import Node

from ease.errors import EaseError
from ease.evaluation.scoring import known_references, task_name
from ease.evaluation.sets import read_located
from ease.pipelines.acquire_evaluation.checks import check_scored_tasks
from ease.pipelines.checks import PlannedRun
from ease.pipelines.evaluate.nodes import score_baselines, score_encoder
from ease.pipelines.options import EvaluateOptions
from ease.pipelines.setting import SETTINGS, TEACH, Setting


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


def check_located(node: Node, run: PlannedRun) -> None:
    """Refuse to score an encoder on tasks that an earlier run has not located, such as one that was just added."""
    setting = run.options(node, Setting)
    encoder = next(name for name in node.inputs if name.endswith(".encoder"))
    references = run.options(node, EvaluateOptions).references(setting.test_tasks, run.parameter("tasks"))
    job = f"train_{setting.name}"
    if setting.name == TEACH:
        job = TEACH
    if run.has(encoder):
        _require_located(node, run, references, f"{job} --tags=acquire_evaluation,evaluate,report")


def check_baselines_located(node: Node, run: PlannedRun) -> None:
    """Refuse to score baselines on tasks that an earlier run has not located."""
    settings = [run.parameter(f"{name}.setting") for name in SETTINGS]
    by_baseline = run.options(node, EvaluateOptions).baseline_references(settings, run.parameter("tasks"))
    references = [reference for of_one in by_baseline.values() for reference in of_one]
    _require_located(node, run, references, "evaluate,report")


def _require_located(node: Node, run: PlannedRun, references: Sequence[str], pipelines: str) -> None:
    data = next(name for name in node.inputs if name.endswith(".evaluation_data"))
    if run.maker(data) is not None or not run.catalog.exists(data):
        return
    located = read_located(run.catalog.load(data))
    names = map(task_name, known_references(references, run.parameter("tasks")))
    absent = dict.fromkeys(name for name in names if name not in located)
    if absent:
        raise EaseError(
            f"The evaluation sets of {', '.join(absent)} are not located yet: locate and score them by `kedro run "
            f"--pipelines={pipelines}` with the same --params."
        )


CHECKS = {
    score_encoder: [check_encoders, check_scored_tasks, check_located],
    score_baselines: [check_encoders, check_scored_tasks, check_baselines_located],
}
