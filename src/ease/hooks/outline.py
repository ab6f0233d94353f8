"""Log the stages of a run before its first step, each slow step, and the results and next commands at the end."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from ease.hooks.names import pipelines_of_run
from ease.io.atomic import write_text_atomically
from ease.io.files import read_json
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
    """Logs the steps of a run with their durations, and the paths of its results.

    A file keeps the duration of every step, by environment; the next run estimates its own duration from it.
    """

    def __init__(self) -> None:
        self._file = Path()
        self._environment = ""
        self._began = 0.0
        self._seconds: dict[str, float] = {}
        self._steps = 0

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Locate the file of durations in the configured data folder."""
        self._file = Path(context.config_loader["globals"]["data"]) / "08_reporting" / "durations.json"
        self._environment = str(context.env or "")

    @hook_impl
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline) -> None:
        """Log the stages of the run, and how long they took the last time."""
        self._seconds, self._steps = {}, len(pipeline.nodes)
        known = self._durations().get(self._environment, {})
        name = "+".join(pipelines_of_run(run_params))
        logger.info("%s: %s", name, outline(pipeline, known))
        if not known and name == "train_multilingual" and not run_params.get("runtime_params"):
            logger.info("On the sample wiki all steps together took about 4 minutes on two cores.")

    @hook_impl
    def before_node_run(self) -> None:
        """Start the clock."""
        self._began = time.monotonic()

    @hook_impl
    def after_node_run(self, node: Node) -> None:
        """Save the step's duration; log it if it is long."""
        seconds = self._seconds[node.name] = time.monotonic() - self._began
        durations = self._durations()
        durations.setdefault(self._environment, {})[node.name] = round(seconds, 1)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        write_text_atomically(self._file, json.dumps(durations, indent=1))
        level = logging.INFO if seconds >= SHOWN_SECONDS else logging.DEBUG
        place = f"Step {len(self._seconds)} of {self._steps}"
        logger.log(level, "%s, %s: %s", place, node.name, format_duration(seconds))

    @hook_impl
    def after_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Log the paths of the results and the next commands."""
        total = format_duration(sum(self._seconds.values()))
        lines = [f"Done: {_count(len(self._seconds))} in {total}."]
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

    def _durations(self) -> dict[str, dict[str, float]]:
        """Return the seconds of each step that ran before, by environment."""
        durations: dict[str, dict[str, float]] = read_json(self._file) or {}
        return durations


def outline(pipeline: Pipeline, known: Mapping[str, float]) -> str:
    """Return the number of steps, how many `known` seconds they took before, and the stages.

    Each method's training is a stage of its own; other stages are tags.
    """
    stages: dict[str, float] = {}
    for node in pipeline.nodes:
        stage = str(node.namespace) if "train" in node.tags else min(node.tags, default=node.name)
        stages[stage] = stages.get(stage, 0) + known.get(node.name, 0)
    missing = sum(node.name not in known for node in pipeline.nodes)
    if missing == len(pipeline.nodes):
        before = "none of which has been timed on this machine yet"
    else:
        before = f"{format_duration(sum(stages.values()))} when they last ran here"
        before += f" ({missing} not timed yet)" if missing else ""
    timed = (f"{stage} ({format_duration(time)})" if time >= 1 else stage for stage, time in stages.items())
    return f"{_count(len(pipeline.nodes))}, {before}. Stages: {', '.join(timed)}."


def _count(steps: int) -> str:
    return "1 step" if steps == 1 else f"{steps} steps"


def format_duration(seconds: float) -> str:
    """Return a duration such as `8 s`, `3 min` or `2 h 5 min`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
