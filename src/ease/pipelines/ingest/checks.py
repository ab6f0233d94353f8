"""Checks before `ingest`: the disk has room for the parsed dumps."""

from __future__ import annotations

from kedro.pipeline.node import Node

from ease.io.addresses import is_remote
from ease.pipelines.checks import PlannedRun
from ease.pipelines.ingest.nodes import parse_wikipedia
from ease.pipelines.options import SAMPLE, AcquireOptions
from ease.pipelines.setting import Setting
from ease.wikimedia.dumps.files import find_dumps
from ease.wikimedia.dumps.mirrors import is_mirror

SPACE = 2.0
"""Bytes of disk for each byte of a compressed dump: 1.4 were measured for parsed parts and tables alone."""


def require_space(node: Node, run: PlannedRun) -> None:
    """Add the space that the parsed dumps of this run take, if no earlier run has parsed any."""
    setting = run.options(node, Setting)
    locating = run.maker(f"{setting.name}.dumps")
    if locating is None or run.catalog.exists(f"{setting.name}.sentences"):
        return
    source = run.options(locating, AcquireOptions).wikipedia
    # The sample is small, and a mirror's dumps have no size before they are downloaded.
    if source != SAMPLE and not is_mirror(source):
        dumps = find_dumps(source, setting.languages)
        size = sum(dump.path.stat().st_size for dump in dumps if not is_remote(dump.path))
        run.required_bytes += round(size * SPACE)


CHECKS = {parse_wikipedia: [require_space]}
