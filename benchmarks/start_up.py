"""Start-up of the command line beside an empty Kedro project with the same plugins.

    python -m benchmarks.start_up
    python -m benchmarks.start_up --rounds 9

Both run `kedro registry list` in turn, in fresh processes; the table has medians. Processor time counts user and system
time, and depends less than the clock on what else the machine does.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).parents[1]
COMMAND = (sys.executable, "-m", "kedro", "registry", "list")
EMPTY_FILES = {
    "pyproject.toml": '[tool.kedro]\npackage_name = "empty"\nproject_name = "Empty"\nkedro_init_version = "1.7.0"\n',
    "src/empty/__init__.py": "",
    "src/empty/settings.py": "",
    "src/empty/pipeline_registry.py": "from kedro.pipeline import Pipeline\n\n\n"
    "def register_pipelines():\n    return {'__default__': Pipeline([])}\n",
    "conf/local/.gitkeep": "",
}


class Times(NamedTuple):
    """Seconds of one command."""

    processor: float
    clock: float


def make_empty_project(folder: Path) -> None:
    """Write a Kedro project without nodes, with this project's configuration of logging and MLflow."""
    for name, text in EMPTY_FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "conf" / "base").mkdir()
    shutil.copy(PROJECT / "conf" / "base" / "mlflow.yml", folder / "conf" / "base")
    shutil.copy(PROJECT / "conf" / "logging.yml", folder / "conf")


def run_timed(folder: Path) -> Times:
    """Run the command in a project."""
    environment = {**os.environ, "DO_NOT_TRACK": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
    before, started = os.times(), time.perf_counter()
    subprocess.run(COMMAND, cwd=folder, env=environment, check=True, capture_output=True)
    clock, after = time.perf_counter() - started, os.times()
    used = (after.children_user + after.children_system) - (before.children_user + before.children_system)
    return Times(used, clock)


def compare(rounds: int) -> dict[str, Times]:
    """Median times of both projects."""
    with tempfile.TemporaryDirectory() as folder:
        make_empty_project(Path(folder))
        projects = {"empty project": Path(folder), "this project": PROJECT}
        runs = [{name: run_timed(place) for name, place in projects.items()} for _ in range(rounds)]
    return {
        name: Times(*(statistics.median(values) for values in zip(*(run[name] for run in runs), strict=True)))
        for name in projects
    }


def main() -> None:
    """Print both as a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="runs of each")
    times = compare(parser.parse_args().rounds)
    empty, ours = times["empty project"], times["this project"]
    times["difference"] = Times(ours.processor - empty.processor, ours.clock - empty.clock)
    print("| `kedro registry list` | processor, s | clock, s |\n| --- | ---: | ---: |")
    for name, (processor, clock) in times.items():
        print(f"| {name} | {processor:.2f} | {clock:.2f} |")


if __name__ == "__main__":
    main()
