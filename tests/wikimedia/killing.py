"""Stops a process while it holds a half-written part, to be killed there."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

PATIENCE = 120
"""Seconds until a part is begun on a busy machine."""


def stop_in_the_middle(parent: psutil.Process, folder: Path) -> tuple[psutil.Process, Path]:
    """Stop the first process below `parent` that is found writing a part below `folder`.

    Returns:
        The stopped process, and the folder that it has half written.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for process in parent.children(recursive=True):
            with suppress(psutil.Error):
                for half_written in _half_written(process, folder):
                    process.suspend()
                    if half_written.exists():
                        return process, half_written
                    process.resume()
        time.sleep(0.005)
    pytest.fail(f"nothing was written to {folder}")


def _half_written(process: psutil.Process, folder: Path) -> set[Path]:
    """The folders of files that a process holds open, and that have not got their names yet."""
    parents = {Path(file.path).parent for file in process.open_files()}
    return {path for path in parents if path.is_relative_to(folder) and path.name.startswith(".")}
