"""Device, precision, threads, determinism and compilation; torch's global state is restored after training."""

from __future__ import annotations

import ctypes
import os
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta

import torch
import torch.utils.deterministic as torch_deterministic
from accelerate import Accelerator, DistributedDataParallelKwargs, InitProcessGroupKwargs
from accelerate.state import AcceleratorState, GradientState
from sentence_transformers import SentenceTransformer
from torch._inductor import config
from transformers.modeling_layers import GradientCheckpointingLayer

from ease.errors import EaseError
from ease.training.execution import Execution

_MMAP_THRESHOLD = -3
"""glibc's M_MMAP_THRESHOLD (mallopt(3), malloc.h)."""
_LARGE_BYTES = 4 << 20
"""Bytes from which glibc maps each allocation on its own in a training run on a CPU"""
_DEFAULT_LARGE_BYTES = 32 << 20
"""glibc's default maximum of that threshold"""

KNOWN_WARNINGS = (
    "Memory Efficient attention defaults to a non-deterministic",  # not for rows of 64 tokens
    "Sparse invariant checks are implicitly disabled",
    "Synchronization debug mode is a prototype",
)
"""First words of harmless torch warnings during GPU training"""

PROCESS_TIMEOUT = timedelta(hours=6)
"""How long processes wait for the first process, which prepares the pairs, evaluates and writes checkpoints."""


def select_gpu() -> None:
    """Use this process's own GPU, if there are several processes; call it before anything else touches a GPU.

    Otherwise every process would open the first GPU.
    """
    if "LOCAL_RANK" not in os.environ:
        return
    # Some launchers let each process see one GPU alone; accelerate also reads the variable as a GPU's number.
    number = int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count()
    os.environ["LOCAL_RANK"] = str(number)
    torch.cuda.set_device(number)


@contextmanager
def accelerated(execution: Execution) -> Iterator[Accelerator]:
    """Configure device, precision, threads and determinism for a training run, and restore torch's state afterwards."""
    on_gpu = execution.device == "cuda"
    with ExitStack() as restore:
        restore.enter_context(warnings.catch_warnings())
        for beginning in KNOWN_WARNINGS:
            warnings.filterwarnings("ignore", message=beginning)
        _set_determinism(execution.deterministic, restore)
        # cuDNN's attention plans anew for every width of a batch, and is not deterministic.
        restore.callback(torch.backends.cuda.enable_cudnn_sdp, torch.backends.cuda.cudnn_sdp_enabled())
        torch.backends.cuda.enable_cudnn_sdp(False)
        restore.callback(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(execution.threads or torch.get_num_threads())
        if execution.mini_batch_size is not None and not on_gpu:
            _return_large_memory(restore)
        restore.enter_context(torch.random.fork_rng([torch.cuda.current_device()] if on_gpu else []))
        # accelerate keeps device and precision for the process, and refuses different ones.
        restore.callback(GradientState._reset_state)
        restore.callback(AcceleratorState._reset_state, reset_partial_state=True)
        if AcceleratorState._shared_state:
            # Another library's trainer has left it.
            AcceleratorState._reset_state(reset_partial_state=True)
        yield Accelerator(
            # accelerate initialises a process group without GPUs only with `cpu=True`.
            cpu=not on_gpu,
            mixed_precision="bf16" if execution.precision == "bf16" else "no",
            kwargs_handlers=[
                # A pretrained BERT has a pooler that sentence embeddings do not use; no layer changes its buffers.
                DistributedDataParallelKwargs(find_unused_parameters=True, broadcast_buffers=False),
                InitProcessGroupKwargs(backend=None, timeout=PROCESS_TIMEOUT),
            ],
        )


def _set_determinism(deterministic: bool, restore: ExitStack) -> None:
    """Allow only deterministic algorithms, or all of them; `restore` brings back torch's state."""
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    enabled = torch.are_deterministic_algorithms_enabled()
    restore.callback(torch.use_deterministic_algorithms, enabled, warn_only=warn_only)
    torch.use_deterministic_algorithms(deterministic, warn_only=True)
    # Filling new memory detects reads of uninitialised values, but writes all memory twice.
    fill = "fill_uninitialized_memory"
    filled = getattr(torch_deterministic, fill)
    restore.callback(setattr, torch_deterministic, fill, filled)
    setattr(torch_deterministic, fill, filled and not deterministic)


def _return_large_memory(restore: ExitStack) -> None:
    """Return a large tensor's memory to the system when it is freed.

    By default, glibc keeps the memory if small tensors lie behind it. With `mini_batch_size` 64, a step of 192 pairs on
    BERT-base's size peaks at 3.3 GB with this and at 5.6 GB without.
    """
    # Other C libraries than glibc, such as musl, lack the function.
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    restore.callback(mallopt, _MMAP_THRESHOLD, _DEFAULT_LARGE_BYTES)
    mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)


def compile_layers(encoder: SentenceTransformer, *, deterministic: bool) -> None:
    """Compile the layers of an encoder in place, for batches of any size; the saved encoder does not change.

    Layers of the same kind share one compilation, which the first step makes. A complete model would have to be
    compiled again for every kind of batch.

    Args:
        encoder: An encoder with a transformer.
        deterministic: Whether to choose the kernels without timing them, so that they are the same in every run.
    """
    layers = [module for module in encoder.modules() if isinstance(module, GradientCheckpointingLayer)]
    if not layers:
        raise EaseError(f"{type(encoder[0]).__name__} has no transformer layers to compile: set `compiled: false`.")
    # The layers of all training runs in a process share their code, of which torch keeps at most eight compilations.
    torch.compiler.reset()
    options = None
    # Older versions of torch have no such option.
    if hasattr(config, "deterministic"):
        options = {"deterministic": deterministic}
    for layer in layers:
        layer.compile(dynamic=True, options=options)
