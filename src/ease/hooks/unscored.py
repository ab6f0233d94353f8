"""What an evaluation could not score, named at the end of the run."""

from __future__ import annotations

import logging
from typing import Any

from kedro.framework.hooks import hook_impl
from kedro.pipeline.node import Node

from ease.errors import EaseError

logger = logging.getLogger(__name__)

EVALUATE_TAG = "evaluate"
"""Nodes with this tag give rows of scores, those without a value being of what could not be scored."""


class UnscoredNamed:
    """Lets a run score and keep what it can, and makes it fail at its end if something could not be scored."""

    def __init__(self) -> None:
        self._reasons: dict[str, list[str]] = {}

    @hook_impl
    def before_pipeline_run(self) -> None:
        """Forget what an earlier run of this process, such as a notebook, could not score."""
        self._reasons = {}

    @hook_impl
    def after_node_run(self, node: Node, outputs: dict[str, Any]) -> None:
        """Note what the node could not score, by the reason."""
        if EVALUATE_TAG not in node.tags:
            return
        for name, rows in outputs.items():
            encoder = name.removesuffix(".scores")
            for row in rows:
                if row["value"] is None:
                    part = " ".join(filter(None, (row.get("method", ""), row["task"], row["subset"])))
                    self._reasons.setdefault(row["note"], []).append(f"{encoder} {part}".strip())

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Fail if something could not be scored.

        Raises:
            EaseError: Naming it, with the reasons.
        """
        if self._reasons:
            raise EaseError(
                "Not all could be scored; all other scores are kept. Not scored:\n" + "\n".join(self._lines())
            )

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Say it, too, where the run fails by something else."""
        for line in self._lines():
            logger.warning("Not scored: %s", line)

    def _lines(self) -> list[str]:
        return [f"{', '.join(parts)}: {reason}" for reason, parts in self._reasons.items()]
