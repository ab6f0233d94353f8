"""Real processes for training runs, forked from a server that has imported torch once."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from ease.training.options import TrainingJob

SOURCE = str(Path(__file__).parents[2] / "src")
PATIENCE = 600.0
"""Timeout in seconds, generous for a busy machine"""

context = multiprocessing.get_context("forkserver")


def start_server() -> None:
    """Start the server with this process's search path, which it does not inherit."""
    context.set_forkserver_preload(["ease.training.__main__", "ease.evaluation.tasks.graded_pairs"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", SOURCE)
        # As torchrun starts its processes; with another number of threads sums are rounded otherwise.
        patch.setenv("OMP_NUM_THREADS", "1")
        forkserver.ensure_running()


def run_rank(rank: int, folder: Path, file_limit: int | None) -> None:
    """Run one process of a job; its messages go to messages-RANK.txt in the job's folder."""
    from ease.training.__main__ import main

    os.dup2(os.open(folder / f"messages-{rank}.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    if file_limit is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))
    sys.exit(main([str(folder)]))


def start(job: TrainingJob, processes: int = 1, file_limit: int | None = None) -> list[BaseProcess]:
    job.folder.mkdir(exist_ok=True)
    (job.folder / "job.json").write_text(job.model_dump_json(), encoding="utf-8")
    return start_ranks(processes, run_rank, job.folder, file_limit)


def start_ranks(processes: int, function: Callable[..., None], *given: Any) -> list[BaseProcess]:
    """Call a function in several processes, with the rank of each and what is given."""
    start_server()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ranks: list[BaseProcess] = [
        # A daemon does not outlive a test that fails.
        context.Process(target=_run, args=(processes, port, function, rank, *given), daemon=True)
        for rank in range(processes)
    ]
    for rank in ranks:
        rank.start()
    return ranks


def _run(processes: int, port: int, function: Callable[..., None], rank: int, *given: Any) -> None:
    if processes > 1:
        places = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": processes, "RANK": rank}
        os.environ.update({name: str(value) for name, value in {**places, "LOCAL_RANK": rank}.items()})
    function(rank, *given)


def finish(ranks: list[BaseProcess]) -> list[int | None]:
    """Wait for processes to end; return their exit statuses."""
    deadline = time.monotonic() + PATIENCE
    for rank in ranks:
        rank.join(timeout=max(0.0, deadline - time.monotonic()))
    staying = [rank.name for rank in ranks if rank.is_alive()]
    for rank in ranks:
        rank.kill()
    if staying:
        raise TimeoutError(f"{', '.join(staying)} of the training run did not end in {PATIENCE:.0f} seconds.")
    return [rank.exitcode for rank in ranks]


def messages(job: TrainingJob) -> str:
    """Return the first process's standard error."""
    path = job.folder / "messages-0.txt"
    return path.read_text(encoding="utf-8") if path.exists() else ""
