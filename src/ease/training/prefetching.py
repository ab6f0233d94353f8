"""Batches that are made ahead of the steps, in a thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

AHEAD = 2
"""Batches that wait for their step"""


def make_ahead(batches: Iterator[T], ahead: int = AHEAD) -> Generator[T, None, None]:
    """Yield the same batches in the same order; the next ones are made meanwhile.

    A batch that cannot be made raises its error in its turn. The thread ends with the iterator.
    """
    end = object()
    with ThreadPoolExecutor(1, thread_name_prefix="batches") as thread:
        coming = deque(thread.submit(next, batches, end) for _ in range(ahead))
        while (batch := coming.popleft().result()) is not end:
            coming.append(thread.submit(next, batches, end))
            yield batch  # type: ignore[misc]
