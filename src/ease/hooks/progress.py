"""Lines in the log of a run that say which node runs, while the node itself logs nothing."""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack

from kedro.framework.hooks import hook_impl
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from ease.io.progress import report_progress

logger = logging.getLogger(__name__)


class RunProgress:
    """Logs what a run does after some seconds without any other line."""

    def __init__(self) -> None:
        self._reporting = ExitStack()
        self._count = 0
        self._done = 0
        self._running: dict[str, float] = {}
        self._since = 0.0

    @hook_impl(tryfirst=True)
    def before_pipeline_run(self, pipeline: Pipeline) -> None:
        """Begin, before the checks of other hooks."""
        self._reporting.close()
        self._count = len(pipeline.nodes)
        self._done = 0
        self._running.clear()
        self._since = time.monotonic()
        logger.info("Checking what the %d nodes of this run need", self._count)
        self._reporting.enter_context(report_progress(self.activity))

    def activity(self) -> str:
        """Return which nodes run, and since when."""
        now = time.monotonic()
        if not self._running:
            return f"{self._done} of {self._count} nodes done, the next has not begun for {now - self._since:.0f} s"
        nodes = [f"{name} for {now - start:.0f} s" for name, start in list(self._running.items())]
        return f"Node {self._done + 1} of {self._count}: {', '.join(nodes)}"

    @hook_impl(tryfirst=True)
    def before_node_run(self, node: Node) -> None:
        """Note when the node began."""
        self._running[node.name] = time.monotonic()

    # After the hooks that log what the node made.
    @hook_impl(trylast=True)
    def after_node_run(self, node: Node) -> None:
        """Count the node."""
        self._running.pop(node.name, None)
        self._done += 1
        self._since = time.monotonic()

    @hook_impl(trylast=True)
    def after_pipeline_run(self) -> None:
        """End."""
        self._reporting.close()

    @hook_impl(trylast=True)
    def on_pipeline_error(self) -> None:
        """End."""
        self._reporting.close()
