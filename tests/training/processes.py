"""Real processes for trainings, forked from a server that has imported torch once."""

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

import pytest

from ease.training import TrainingJob

SOURCE = str(Path(__file__).parents[2] / "src")
context = multiprocessing.get_context("forkserver")


def start_server() -> None:
    """Start the server; it does not inherit this process's search path, and would pass over what it misses."""
    context.set_forkserver_preload(["ease.training.__main__", "ease.tasks.sample_graded"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", SOURCE)
        forkserver.ensure_running()


def run_rank(folder: Path, rank: int, processes: int, port: int, file_limit: int | None) -> None:
    """Be one of the processes of a job; its messages go to messages-RANK.txt in its folder."""
    from ease.training.__main__ import main

    os.dup2(os.open(folder / f"messages-{rank}.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    if processes > 1:
        places = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": processes, "RANK": rank}
        os.environ.update({name: str(value) for name, value in {**places, "LOCAL_RANK": rank}.items()})
    if file_limit is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))
    sys.exit(main([str(folder)]))


def start(job: TrainingJob, processes: int = 1, file_limit: int | None = None) -> list[BaseProcess]:
    """Start the processes of a job."""
    start_server()
    job.folder.mkdir(exist_ok=True)
    (job.folder / "job.json").write_text(job.model_dump_json(), encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ranks: list[BaseProcess] = [
        context.Process(target=run_rank, args=(job.folder, rank, processes, port, file_limit))
        for rank in range(processes)
    ]
    for rank in ranks:
        rank.start()
    return ranks


def finish(ranks: list[BaseProcess]) -> list[int | None]:
    """Wait for processes to end; returns their exit statuses."""
    for rank in ranks:
        rank.join(timeout=90)
    return [rank.exitcode for rank in ranks]


def messages(job: TrainingJob) -> str:
    """What the first process has written to standard error."""
    return (job.folder / "messages-0.txt").read_text(encoding="utf-8")


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something has come true."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the training has not come so far")
        time.sleep(0.01)
