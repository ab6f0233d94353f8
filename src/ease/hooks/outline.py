"""Log each slow step of a run, and the results and next commands at the end."""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path

from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from ease.io.project import make_or

logger = logging.getLogger(__name__)

SHOWN_SECONDS = 5.0
"""Minimum duration of a step that is logged."""

REPORT = "kedro run --pipelines=report  # write the report beside the papers' tables"
MLFLOW = "kedro mlflow ui"
NEXT_STEPS = {
    "train": (f"{MLFLOW}  # compare the runs in a browser", REPORT),
    "evaluate": (REPORT,),
    "sweep": (f"{MLFLOW}  # compare the trainings in a browser",),
}
"""Commands that follow a run, by a tag of its nodes; those of the first matching tag are shown."""


class Outline:
    """Logs the durations of a run's slow steps, and the paths of its results."""

    def __init__(self) -> None:
        self._began = 0.0
        self._seconds: dict[str, float] = {}
        self._steps = 0

    @hook_impl
    def before_pipeline_run(self, pipeline: Pipeline) -> None:
        """Count the steps."""
        self._seconds, self._steps = {}, len(pipeline.nodes)

    @hook_impl
    def before_node_run(self) -> None:
        """Start the clock."""
        self._began = time.monotonic()

    @hook_impl
    def after_node_run(self, node: Node) -> None:
        """Log the step's duration if it is long."""
        seconds = self._seconds[node.name] = time.monotonic() - self._began
        level = logging.INFO if seconds >= SHOWN_SECONDS else logging.DEBUG
        place = f"Step {len(self._seconds)} of {self._steps}"
        logger.log(level, "%s, %s: %s", place, node.name, format_duration(seconds))

    @hook_impl
    def after_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Log the paths of the results and the next commands."""
        total = format_duration(sum(self._seconds.values()))
        lines = [f"Done: {len(self._seconds)} step{'s' * (len(self._seconds) != 1)} in {total}."]
        # The linked outputs; importing the datasets' classes here would slow down every command.
        links = {name: getattr(catalog.get(name), "link", None) for name in sorted(pipeline.all_outputs())}
        for name, link in links.items():
            if link is not None and link.exists():  # of a folder of web pages, the pages
                lines += [f"  {name}: {path}" for path in sorted(link.glob("*.html")) or [link]]
        tags = {tag for node in pipeline.nodes for tag in node.tags}
        commands: tuple[str, ...] = next((NEXT_STEPS[tag] for tag in NEXT_STEPS if tag in tags), ())
        # As it can be typed in this folder without activating the environment.
        kedro = Path(sys.executable).with_name("kedro")
        typed = os.path.relpath(kedro) if kedro.is_relative_to(Path.cwd()) else "kedro"
        lines += ["Next:"] if commands else []
        known = [command.replace(MLFLOW, make_or("mlflow", MLFLOW)) for command in commands]
        lines += [f"  {command.replace('kedro', typed, 1)}" for command in known]
        logger.info("\n".join(lines))


def format_duration(seconds: float) -> str:
    """Return a duration such as `8 s`, `3 min` or `2 h 5 min`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
