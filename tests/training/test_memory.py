"""Memory: a training that needs too much says what to change, and `mini_batch_size` frees what it has used."""

from __future__ import annotations

import ctypes
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.training.tiny_training import MakeJob

PAIRS = 16_000
ADDRESS_SPACE = 4 << 30
"""Bytes: a training starts with 2.3 GB of address space, and its logits have PAIRS² numbers in single precision."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process's memory in this way")
@pytest.mark.parametrize(
    ("change", "advice"),
    [
        ({}, "Set `mini_batch_size`, which gives the same loss in less memory, or lower `batch_size`"),
        ({"mini_batch_size": PAIRS}, "Lower `mini_batch_size` or `batch_size`"),
    ],
    ids=["direct", "mini-batches"],
)
def test_a_batch_beyond_the_memory_says_what_to_change(
    files: Path, tmp_path: Path, make_job: MakeJob, change: dict[str, Any], advice: str
) -> None:
    pairs = pq.read_table(files / "pairs.parquet")
    pq.write_table(pa.concat_tables([pairs] * (PAIRS // len(pairs))), tmp_path / "many.parquet")
    training = {"batch_size": PAIRS, "max_steps": 1, **change}
    job = make_job(method="simcse", pairs=tmp_path / "many.parquet", training=training, development={})
    job.folder.mkdir()
    (job.folder / "job.json").write_text(job.model_dump_json(), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "ease.training", str(job.folder)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE)),
    )
    assert done.returncode == 1
    (message,) = [line for line in done.stderr.splitlines() if line.startswith("There is not enough memory.")]
    assert advice in message
    assert "DefaultCPUAllocator: can't allocate memory" in message
    assert "Traceback" not in done.stderr


PROGRAM = """
import sys
import psutil, torch
from ease.training.accelerator import accelerated
from ease.training.options import TrainingOptions

rows = None if sys.argv[1] == "whole" else 64
with accelerated(TrainingOptions(device="cpu", threads=1, mini_batch_size=rows)):
    torch.ones(6 << 20)  # once it is freed, glibc by itself maps no smaller tensor alone
    before = psutil.Process().memory_info().rss
    large, small = [], []
    for _ in range(40):
        large.append(torch.ones(2 << 20))
        small.append(torch.ones(1 << 14))  # too large for holes that imports have left
    large.clear()
    print((psutil.Process().memory_info().rss - before) >> 20)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="not glibc")
def test_freed_large_tensors_return_their_memory_beside_small_ones() -> None:
    kept = {
        way: int(
            subprocess.run(
                [sys.executable, "-c", PROGRAM, way], capture_output=True, text=True, check=True
            ).stdout
        )
        for way in ("whole", "blocks")
    }
    assert kept["whole"] > 200, "what glibc does by itself"
    assert kept["blocks"] < 50
