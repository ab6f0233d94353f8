"""Checks before `entity_pairs`: the pairs are made from dumps, and not from the pages of an audit."""

from __future__ import annotations

from kedro.pipeline.node import Node

from ease.entities.pairs import PairOptions
from ease.errors import EaseError
from ease.evaluation.scoring import task_name
from ease.pipelines.checks import PlannedRun
from ease.pipelines.entity_pairs.nodes import make_pairs
from ease.pipelines.options import AUDIT
from ease.pipelines.setting import Setting


def refuse_released(node: Node, run: PlannedRun) -> None:
    """Refuse the parameter of released pairs, which another pipeline reads."""
    setting = run.options(node, Setting)
    if run.options(node, PairOptions).released is not None:
        raise EaseError(
            f"`{setting.name}.pairs.released` names pairs, and this run makes others from dumps: read the released "
            f"ones by `kedro run --pipelines=released_pairs --namespaces={setting.name}` (docs/own_data.md), or set "
            "the parameter to null."
        )


def check_audit(node: Node, run: PlannedRun) -> None:
    """Refuse pairs for a training run that the audit judges if they may be of the audit's pages."""
    setting = run.options(node, Setting)
    has_audit = AUDIT in map(task_name, (*setting.dev_tasks, *setting.test_tasks))
    if has_audit and not run.options(node, PairOptions).without_audit:
        raise EaseError(
            f"The tasks of the setting {setting.name} have `{AUDIT}`, whose pages are among the training pairs: set "
            f"`{setting.name}.pairs.without_audit` to true, or name other tasks."
        )


CHECKS = {make_pairs: [refuse_released, check_audit]}
