"""Device, precision, threads, determinism and random states of a training, without traces left in torch."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from datetime import timedelta

import torch
import torch.utils.deterministic as torch_deterministic
from accelerate import Accelerator, DistributedDataParallelKwargs, InitProcessGroupKwargs
from accelerate.state import AcceleratorState, GradientState

from ease.training.options import TrainingOptions

CUBLAS_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
"""Environment variable without which matrix products on a GPU may differ from run to run."""


_MMAP_THRESHOLD = -3
"""glibc's M_MMAP_THRESHOLD (mallopt(3), malloc.h)."""
_LARGE, _USUALLY_LARGE = 4 << 20, 32 << 20
"""Bytes from which memory is mapped for a tensor alone; glibc raises its own bound up to the second as it learns."""

PATIENCE = timedelta(hours=6)
"""How long processes wait for the first one, which prepares the pairs, evaluates and writes checkpoints alone."""


@contextlib.contextmanager
def accelerated(options: TrainingOptions) -> Iterator[Accelerator]:
    """Set up what a training runs on, repeatable by its seed, and put everything back afterwards."""
    on_gpu = options.device == "auto" and torch.cuda.is_available()
    if on_gpu:
        # Before anything else touches a GPU: every process would open the first one.
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", torch.cuda.current_device())))
    half = options.precision == "bf16" or (
        options.precision == "auto" and on_gpu and torch.cuda.is_bf16_supported(including_emulation=False)
    )
    devices = [torch.cuda.current_device()] if on_gpu else []
    with (
        _deterministic(),
        _threads(options.threads),
        _large_tensors_freed(options.mini_batch_size is not None and not on_gpu),
        torch.random.fork_rng(devices=devices),
    ):
        try:
            yield Accelerator(
                # accelerate joins processes without a GPU only where it is told to use the CPU.
                cpu=options.device == "cpu" or ("LOCAL_RANK" in os.environ and not on_gpu),
                mixed_precision="bf16" if half else "no",
                # A loaded BERT has a pooler that sentence embeddings do not use.
                kwargs_handlers=[
                    DistributedDataParallelKwargs(find_unused_parameters=True),
                    InitProcessGroupKwargs(backend=None, timeout=PATIENCE),
                ],
            )
        finally:
            # accelerate remembers device and precision for the whole process, and refuses another training's.
            AcceleratorState._reset_state(reset_partial_state=True)
            GradientState._reset_state()


@contextlib.contextmanager
def _large_tensors_freed(wanted: bool) -> Iterator[None]:
    """Give memory back with each large tensor that is freed: glibc keeps it where small ones stay in between."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if wanted else None
    if mallopt is None:
        yield
        return
    mallopt(_MMAP_THRESHOLD, _LARGE)
    try:
        yield
    finally:
        mallopt(_MMAP_THRESHOLD, _USUALLY_LARGE)


@contextlib.contextmanager
def _deterministic() -> Iterator[None]:
    """Use algorithms that give the same bits each time, where there are any."""
    enabled, warn_only = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    fill: bool = torch_deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    workspace = os.environ.get(CUBLAS_WORKSPACE)
    os.environ.setdefault(CUBLAS_WORKSPACE, ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    # Filling new memory guards against reading it unset, at the price of writing all of it twice.
    torch_deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch_deterministic.fill_uninitialized_memory = fill  # type: ignore[attr-defined]
        torch.use_deterministic_algorithms(enabled, warn_only=warn_only)
        if workspace is None:
            del os.environ[CUBLAS_WORKSPACE]


@contextlib.contextmanager
def _threads(count: int | None) -> Iterator[None]:
    """Use a number of CPU threads."""
    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
