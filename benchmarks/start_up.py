"""Compare the start-up time of the command line with that of an empty Kedro project, and time refused runs.

    python -m benchmarks.start_up
    python -m benchmarks.start_up --rounds 9

Each command runs in new processes, in turn with the others; the table shows medians. CPU time is user plus system time;
it depends less on the other load of the machine than wall-clock time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.common import command_line_parser, print_head, print_row

PROJECT = Path(__file__).parents[1]
WITHOUT_PLUGINS = """
from importlib import metadata

metadata.Distribution.entry_points = property(lambda distribution: ())
from kedro.framework.cli import main

main()
"""
"""Kedro's command in an environment without plugins, which Kedro finds by the entry points of distributions."""
EMPTY_FILES = {
    "pyproject.toml": '[tool.kedro]\npackage_name = "empty"\nproject_name = "Empty"\nkedro_init_version = "1.7.0"\n',
    "src/empty/__init__.py": "",
    "src/empty/settings.py": "",
    "src/empty/pipeline_registry.py": "from kedro.pipeline import Pipeline\n\n\n"
    "def register_pipelines():\n    return {'__default__': Pipeline([])}\n",
    "conf/local/.gitkeep": "",
    "conf/base/.gitkeep": "",
}


class Command(NamedTuple):
    """A command, its project and its environment."""

    name: str
    folder: Path
    arguments: tuple[str, ...]
    variables: tuple[tuple[str, str], ...] = ()
    is_refused: bool = False


def commands(empty: Path) -> list[Command]:
    """Return what is measured; `empty` is the folder of a project without nodes."""
    kedro = (sys.executable, "-m", "kedro")
    listing = (*kedro, "registry", "list")
    teach = (*kedro, "run", "--pipelines=teach", "--params")
    uncompiled = (("PYTHONDONTWRITEBYTECODE", "1"), ("PYTHONPYCACHEPREFIX", str(empty / "no_cache")))
    return [
        Command("list, empty project without plugins", empty, (sys.executable, "-c", WITHOUT_PLUGINS, *listing[3:])),
        Command("list, empty project", empty, listing),
        Command("list, this project", PROJECT, listing),
        Command("list, this project, without bytecode", PROJECT, listing, uncompiled),
        Command("refuse a parameter's name", PROJECT, (*teach, "teach.languag=eo"), is_refused=True),
        Command("refuse a parameter's value", PROJECT, (*teach, "teach.min_kept=most"), is_refused=True),
        Command("refuse an encoder without a folder", PROJECT, (*teach, "teach.encoder=no/such/one"), is_refused=True),
        Command("refuse a method's option", PROJECT, (*teach, "teach.ease_plus.options.bias=1"), is_refused=True),
    ]


def make_empty_project(folder: Path) -> None:
    """Write a Kedro project without nodes, with this project's logging."""
    for name, text in EMPTY_FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    shutil.copy(PROJECT / "conf/logging.yml", folder / "conf/logging.yml")


def run_timed(command: Command) -> tuple[float, float]:
    """Run a command in its project and return its CPU and wall-clock seconds."""
    environment = {**os.environ, "DO_NOT_TRACK": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # it would compile the project at each start
    environment |= dict(command.variables)
    before = os.times()
    started = time.perf_counter()
    done = subprocess.run(command.arguments, cwd=command.folder, env=environment, check=False, capture_output=True)
    clock = time.perf_counter() - started
    after = os.times()
    if (done.returncode != 0) != command.is_refused:
        raise RuntimeError(f"{command.name}: {done.stderr.decode()}")
    return after.children_user + after.children_system - before.children_user - before.children_system, clock


def main() -> None:
    """Parse the arguments, measure and print a Markdown table."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="runs per command")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        make_empty_project(Path(folder))
        measured = commands(Path(folder))
        runs = [[run_timed(command) for command in measured] for _ in range(rounds)]
    print_head("command", "CPU time, s", "wall-clock time, s")
    for command, medians in zip(measured, np.median(runs, axis=0), strict=True):  # (commands, CPU and wall-clock)
        print_row(command.name, *(f"{seconds:.2f}" for seconds in medians))


if __name__ == "__main__":
    main()
