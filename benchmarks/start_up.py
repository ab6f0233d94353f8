"""Compare the start-up time of the command line with that of an empty Kedro project with the same plugins.

    python -m benchmarks.start_up
    python -m benchmarks.start_up --rounds 9

`kedro registry list` runs in new processes, alternating between the projects; the table shows medians. CPU time is user
plus system time; it depends less on the other load of the machine than wall-clock time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.common import command_line_parser, print_head, print_row

PROJECT = Path(__file__).parents[1]
COMMAND = (sys.executable, "-m", "kedro", "registry", "list")
NAMES = ("empty project", "this project", "difference")
EMPTY_FILES = {
    "pyproject.toml": '[tool.kedro]\npackage_name = "empty"\nproject_name = "Empty"\nkedro_init_version = "1.7.0"\n',
    "src/empty/__init__.py": "",
    "src/empty/settings.py": "",
    "src/empty/pipeline_registry.py": "from kedro.pipeline import Pipeline\n\n\n"
    "def register_pipelines():\n    return {'__default__': Pipeline([])}\n",
    "conf/local/.gitkeep": "",
    "conf/base/.gitkeep": "",
}


def make_empty_project(folder: Path) -> None:
    """Write a Kedro project without nodes, with this project's logging."""
    for name, text in EMPTY_FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    shutil.copy(PROJECT / "conf/logging.yml", folder / "conf/logging.yml")


def run_timed(folder: Path) -> tuple[float, float]:
    """Run the command in a project and return its CPU and wall-clock seconds."""
    environment = {**os.environ, "DO_NOT_TRACK": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # it would compile the project at each start
    before = os.times()
    started = time.perf_counter()
    subprocess.run(COMMAND, cwd=folder, env=environment, check=True, capture_output=True)
    clock = time.perf_counter() - started
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system, clock


def main() -> None:
    """Parse the arguments, measure and print a Markdown table."""
    parser = command_line_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="runs per project")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        make_empty_project(Path(folder))
        runs = [[run_timed(place) for place in (Path(folder), PROJECT)] for _ in range(rounds)]
    times = np.median(runs, axis=0)  # (projects, CPU and wall-clock)
    print_head("`kedro registry list`", "CPU time, s", "wall-clock time, s")
    for name, medians in zip(NAMES, [*times, times[1] - times[0]], strict=True):
        print_row(name, *(f"{seconds:.2f}" for seconds in medians))


if __name__ == "__main__":
    main()
