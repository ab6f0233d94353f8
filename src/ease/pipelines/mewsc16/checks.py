"""Checks before `mewsc16`: languages, and the dumps of a folder."""

from __future__ import annotations

from kedro.pipeline.node import Node

from ease.pipelines.acquire.checks import check_source_languages
from ease.pipelines.checks import PlannedRun
from ease.pipelines.mewsc16.nodes import Mewsc16Options, locate_wikinews


def check_wikinews(node: Node, run: PlannedRun) -> None:
    """Refuse unknown languages, and a folder without their dumps."""
    options = run.options(node, Mewsc16Options)
    check_source_languages(options.wikinews, options.languages, "wikinews")


CHECKS = {locate_wikinews: [check_wikinews]}
