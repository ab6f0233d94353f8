"""What the benchmarks share: their command line, Markdown tables, and the peak memory of a process."""

from __future__ import annotations

import argparse
import re
import resource
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, TypeVar

PROCESSES = Path("/proc")
P = ParamSpec("P")
T = TypeVar("T")


def command_line_parser(documentation: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help starts with a module's docstring, with its line breaks."""
    return argparse.ArgumentParser(description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter)


def print_head(*heads: str, texts: int = 1) -> None:
    """Print the head of a table whose first `texts` columns are texts, and the others figures."""
    print_row(*heads)
    print_row(*("---" if place < texts else "---:" for place in range(len(heads))))


def print_row(*cells: object) -> None:
    """Print a row of a table at once."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def peak_megabytes(process: int | str = "self") -> float:
    """Return the peak resident memory of a process, by default this one, in MiB.

    Linux reports the peak of the running program. `getrusage` is the fallback, for this process only; its value
    also includes the parent process from before `exec`, if that was larger.
    """
    status = PROCESSES / str(process) / "status"
    if status.exists():
        match = re.search(r"VmHWM:\s*(\d+) kB", status.read_text(encoding="utf-8"))
        if match:
            return int(match[1]) / 1024
    # macOS reports bytes, other systems KiB.
    unit = 1024
    if sys.platform == "darwin":
        unit = 1
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def reset_peak_memory(process: int | str = "self") -> None:
    """Let the peak of a process begin at its present memory, where the system can: on Linux."""
    references = PROCESSES / str(process) / "clear_refs"
    if references.exists():
        # The kernel's code for "reset the peak resident memory".
        references.write_text("5", encoding="ascii")


def in_new_process(function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Call a function in a newly started process, which has its own peak memory, and return its result."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments, **options).result()


def measured_alone(function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Call a function in a new process; with a GPU in this one, as the GPU's peak memory can be reset."""
    import torch

    if not torch.cuda.is_available():
        return in_new_process(function, *arguments, **options)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    return function(*arguments, **options)
