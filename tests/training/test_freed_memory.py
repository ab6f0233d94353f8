"""With `mini_batch_size`, the memory of large tensors is freed although small tensors between them remain."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

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
