"""Check before `publish`: the libraries of the exported forms."""

from __future__ import annotations

from collections.abc import Sequence

from kedro.pipeline.node import Node

from ease.encoders.options import Form
from ease.pipelines.checks import PlannedRun
from ease.pipelines.publish.nodes import PublishOptions, write_folder


def check_forms(node: Node, run: PlannedRun) -> None:
    """Refuse forms of an encoder whose libraries are not installed."""
    options = run.options(node, PublishOptions)
    if options.what == "model" and options.forms:
        run.check_later(_check_libraries, options.forms)


def _check_libraries(forms: Sequence[Form]) -> None:
    from ease.encoders.exports import check_libraries

    check_libraries(forms)


CHECKS = {write_folder: [check_forms]}
