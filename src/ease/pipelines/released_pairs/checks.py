"""Checks before `released_pairs`: the parameters name files that exist."""

from __future__ import annotations

from kedro.pipeline.node import Node

from ease.entities.pairs import PairOptions
from ease.entities.released import find_released
from ease.pipelines.checks import PlannedRun
from ease.pipelines.released_pairs.nodes import locate_released_pairs, require_source
from ease.pipelines.setting import Setting
from ease.wikimedia.dumps.mirrors import is_mirror


def check_released(node: Node, run: PlannedRun) -> None:
    """Refuse a setting without released pairs, and files that do not exist."""
    source = require_source(run.options(node, PairOptions), run.options(node, Setting))
    if not is_mirror(source):
        find_released(source)


CHECKS = {locate_released_pairs: [check_released]}
