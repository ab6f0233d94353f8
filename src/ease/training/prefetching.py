"""Batches that are made ahead of the steps, in a thread, and copied to the device."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch
from accelerate.utils import recursively_apply, send_to_device

T = TypeVar("T")

AHEAD = 2
"""Batches that wait for their step"""


def make_ahead(batches: Iterator[T], device: torch.device, ahead: int = AHEAD) -> Generator[T, None, None]:
    """Yield the same batches on a device, in the same order; the next ones are made meanwhile.

    A batch that cannot be made raises its error in its turn. The thread ends with the iterator.

    Args:
        batches: Tensors, in tuples, lists and dictionaries of any depth.
        device: The device of the yielded tensors.
        ahead: Number of batches that wait for their step.
    """
    end = object()

    def make() -> Any:
        batch = next(batches, end)
        # A GPU reads pinned memory while the host continues.
        return recursively_apply(torch.Tensor.pin_memory, batch) if device.type == "cuda" else batch

    with ThreadPoolExecutor(1, thread_name_prefix="batches") as thread:
        coming = deque(thread.submit(make) for _ in range(ahead))
        while (batch := coming.popleft().result()) is not end:
            coming.append(thread.submit(make))
            yield send_to_device(batch, device, non_blocking=True)
