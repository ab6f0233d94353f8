"""Memory that a process has had at most."""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak_megabytes() -> float:
    """The most that this process has had resident, in MiB.

    Linux tells it of the program that runs; `getrusage` tells of the process, and so of the one that started it, if
    that was larger.
    """
    if STATUS.exists():
        found = re.search(r"VmHWM:\s*(\d+) kB", STATUS.read_text(encoding="utf-8"))
        if found:
            return int(found[1]) / 1024
    unit = 1 if sys.platform == "darwin" else 1024  # bytes, or KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
