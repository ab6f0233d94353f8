"""Checks before `mewsc16`: languages, and the dumps of a folder."""

from __future__ import annotations

from kedro.pipeline.node import Node

from ease.pipelines.acquire.checks import check_source_languages, refuse_idle_downloads
from ease.pipelines.checks import PlannedRun
from ease.pipelines.mewsc16.nodes import Mewsc16Options, locate_wikinews
from ease.pipelines.options import AcquireOptions
from ease.wikimedia.dumps.mirrors import is_mirror

OF_MIRRORS = ("mewsc16.archive", "mewsc16.dump_date")


def check_wikinews(node: Node, run: PlannedRun) -> None:
    """Refuse unknown languages, a folder without their dumps, and parameters in `--params` of what is not read."""
    options = run.options(node, Mewsc16Options)
    if options.clean is not None:
        run.refuse_idle(["mewsc16.wikinews", *OF_MIRRORS], "`mewsc16.clean` takes the place of dumps")
    elif not is_mirror(options.wikinews):
        run.refuse_idle(OF_MIRRORS, f"it is for a mirror's dumps, and `mewsc16.wikinews` is {options.wikinews}")
    refuse_idle_downloads(run.options(node, AcquireOptions), run)
    check_source_languages(options.wikinews, options.languages, "wikinews")


CHECKS = {locate_wikinews: [check_wikinews]}
