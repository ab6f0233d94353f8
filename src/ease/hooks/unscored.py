"""Report at the end of a run which scores could not be computed."""

from __future__ import annotations

import logging
from typing import Any

from kedro.framework.hooks import hook_impl
from kedro.pipeline.node import Node

from ease.errors import EaseError

logger = logging.getLogger(__name__)

EVALUATE_TAG = "evaluate"
"""Nodes with this tag return rows of scores; a row without a value names something that could not be scored."""


class UnscoredNamed:
    """Lets a run keep every score that it can compute, and fails the run at its end if scores are missing."""

    def __init__(self) -> None:
        self._reasons: dict[str, list[str]] = {}

    @hook_impl
    def before_pipeline_run(self) -> None:
        """Forget the missing scores of an earlier run of this process, such as a notebook's."""
        self._reasons = {}

    @hook_impl
    def after_node_run(self, node: Node, outputs: dict[str, Any]) -> None:
        """Collect the missing scores of a node by reason."""
        if EVALUATE_TAG not in node.tags:
            return
        for name, rows in outputs.items():
            encoder = name.removesuffix(".scores")
            for row in rows:
                if row["value"] is None:
                    parts = (encoder, row.get("method"), row["task"], row["subset"])
                    self._reasons.setdefault(row["note"], []).append(" ".join(filter(None, parts)))

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Fail the run if scores are missing.

        Raises:
            EaseError: With the missing scores and their reasons.
        """
        if self._reasons:
            raise EaseError(
                "Not all could be scored; all other scores are kept. Not scored:\n" + "\n".join(self._lines())
            )

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Log the missing scores if the run fails for another reason."""
        for line in self._lines():
            logger.warning("Not scored: %s", line)

    def _lines(self) -> list[str]:
        return [f"{', '.join(parts)}: {reason}" for reason, parts in self._reasons.items()]
