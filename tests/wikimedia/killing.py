"""Stop a process while it writes a part, so that a test can kill it there."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

PATIENCE = 120
"""Seconds to wait on a busy machine until a part is started."""


def stop_in_the_middle(parent: psutil.Process, folder: Path) -> tuple[psutil.Process, Path]:
    """Stop the first child process of `parent` that writes a part in `folder`.

    Returns:
        The stopped process, and its partial folder.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for process in parent.children(recursive=True):
            with suppress(psutil.Error):
                for partial in _partial(process, folder):
                    process.suspend()
                    if partial.exists():
                        return process, partial
                    process.resume()
        time.sleep(0.005)
    pytest.fail(f"nothing was written to {folder}")


def _partial(process: psutil.Process, folder: Path) -> set[Path]:
    """Return the partial folders in which a process has open files."""
    parents = {Path(file.path).parent for file in process.open_files()}
    return {path for path in parents if path.is_relative_to(folder) and path.name.startswith(".")}
