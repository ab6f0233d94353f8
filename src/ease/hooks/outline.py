"""What a run shows at its beginning, after each step and at its end."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sized
from pathlib import Path
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from ease.io.atomic import write_text_atomically

logger = logging.getLogger(__name__)

SHOWN_SECONDS = 5.0
"""Steps that take less are counted, not listed."""

NEXT_STEPS = {
    "train": {
        "make mlflow": "compare the runs in a browser",
        "kedro run --pipelines=report": "write the report beside the papers' tables",
    },
    "evaluate": {"kedro run --pipelines=report": "write the report beside the papers' tables"},
    "sweep": {"make mlflow": "compare the trainings in a browser"},
}
"""Commands that follow a run, by the tag of its nodes; those of the first tag that a run has are shown."""


class Outline:
    """Shows the steps of a run with their times, and where its results lie.

    The times of all steps are kept in one file: the next run estimates its own by them.
    """

    def __init__(self) -> None:
        self._file = Path()
        self._environment = ""
        self._began: dict[str, float] = {}
        self._seconds: dict[str, float] = {}
        self._steps = 0

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Find the file of times: below the data, as the configuration says it."""
        self._file = Path(context.config_loader["globals"]["data"]) / "08_reporting" / "durations.json"
        self._environment = str(context.env or "")

    @hook_impl
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline) -> None:
        """Log which steps come and how long they took the last time."""
        self._began, self._seconds, self._steps = {}, {}, len(pipeline.nodes)
        name = "+".join(run_params.get("pipeline_names") or ["__default__"])
        text = outline([node.name for node in pipeline.nodes], _stages(pipeline), self._known())
        logger.info("%s: %s", name, text)
        if not self._known() and name == "train_multilingual" and not run_params.get("runtime_params"):
            logger.info("On the sample wiki all steps together took 5 minutes on two idle cores.")

    @hook_impl
    def before_node_run(self, node: Node) -> None:
        """Take the time."""
        self._began[node.name] = time.monotonic()

    @hook_impl
    def after_node_run(self, node: Node) -> None:
        """Log a step that took long; keep its time."""
        seconds = time.monotonic() - self._began[node.name]
        self._seconds[node.name] = seconds
        self._file.parent.mkdir(parents=True, exist_ok=True)
        known = {**self._known(), node.name: round(seconds, 1)}
        write_text_atomically(self._file, json.dumps({**self._all(), self._environment: known}, indent=1))
        level = logging.INFO if seconds >= SHOWN_SECONDS else logging.DEBUG
        logger.log(
            level, "Step %d of %d, %s: %s", len(self._seconds), self._steps, node.name, spoken_time(seconds)
        )

    @hook_impl
    def after_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Log where the results lie and what to do next."""
        lines = [f"Done: {_count(self._seconds)} in {spoken_time(sum(self._seconds.values()))}."]
        lines += [f"  {name}: {path}" for name, path in _results(pipeline, catalog)]
        tags = {tag for node in pipeline.nodes for tag in node.tags}
        commands: Mapping[str, str] = next((NEXT_STEPS[tag] for tag in NEXT_STEPS if tag in tags), {})
        lines += ["Next:"] if commands else []
        lines += [
            f"  {command.replace('kedro', _kedro(), 1)}  # {purpose}" for command, purpose in commands.items()
        ]
        logger.info("\n".join(lines))

    def _all(self) -> dict[str, dict[str, float]]:
        """The seconds of each step, by environment."""
        try:
            times: dict[str, dict[str, float]] = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return times

    def _known(self) -> dict[str, float]:
        return self._all().get(self._environment, {})


def outline(steps: list[str], stages: Mapping[str, list[str]], known: Mapping[str, float]) -> str:
    """Describe the steps to come: how many, in which stages, and how long they took before.

    Args:
        steps: The names of all.
        stages: The steps of each stage, in their order.
        known: Seconds of the steps that have run here before.
    """
    text = f"{_count(steps)}, "
    missing = [step for step in steps if step not in known]
    if len(missing) == len(steps):
        text += "none of which has been timed on this machine yet. Stages: "
    else:
        text += f"{spoken_time(sum(known[step] for step in steps if step in known))} when they last ran here"
        text += f" ({len(missing)} not timed yet). Stages: " if missing else ". Stages: "
    return text + ", ".join(_stage(name, own, known) for name, own in stages.items()) + "."


def _count(steps: Sized) -> str:
    return "1 step" if len(steps) == 1 else f"{len(steps)} steps"


def _stage(name: str, steps: Iterable[str], known: Mapping[str, float]) -> str:
    seconds = sum(known.get(step, 0.0) for step in steps)
    return f"{name} ({spoken_time(seconds)})" if seconds >= 1 else name


def _stages(pipeline: Pipeline) -> dict[str, list[str]]:
    """The steps by stage; a method's training is a stage of its own."""
    stages: dict[str, list[str]] = {}
    for node in pipeline.nodes:
        stage = str(node.namespace) if "train" in node.tags else _first_tag(node)
        stages.setdefault(stage, []).append(node.name)
    return stages


def _first_tag(node: Node) -> str:
    return min(node.tags, default=node.name)


def _results(pipeline: Pipeline, catalog: DataCatalog) -> list[tuple[str, Path]]:
    """The outputs that a link leads to, by their datasets' names; of a folder of pages the pages."""
    # Only some of the project's datasets have a link; importing their classes here would slow down every command.
    links = {name: getattr(catalog.get(name), "link", None) for name in sorted(pipeline.all_outputs())}
    made = {name: link for name, link in links.items() if link is not None and link.exists()}
    return [(name, path) for name, link in made.items() for path in sorted(link.glob("*.html")) or [link]]


def _kedro() -> str:
    """The command as one may type it in this folder, whether or not its environment is activated."""
    command = Path(sys.executable).with_name("kedro")
    return os.path.relpath(command) if command.is_relative_to(Path.cwd()) else "kedro"


def spoken_time(seconds: float) -> str:
    """Write seconds as people say them: `8 s`, `3 min`, `2 h 5 min`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours else f"{rest} min"
