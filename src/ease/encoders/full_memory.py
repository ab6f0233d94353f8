"""The error of a device whose memory is full."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ease.errors import EaseError


def is_full_memory(error: RuntimeError) -> bool:
    """Return whether an error of torch says that a device has no more memory."""
    from accelerate.utils.memory import should_reduce_batch_size

    return bool(should_reduce_batch_size(error))


class FullMemoryError(EaseError):
    """Raised if a device has not enough memory."""


@contextmanager
def advise_on_full_memory(advice: str) -> Iterator[None]:
    """Report that torch found no more memory, on a GPU or a CPU, with advice.

    Args:
        advice: What to do, as sentences.

    Raises:
        FullMemoryError: If torch found no more memory.
    """
    try:
        yield
    except RuntimeError as error:
        if not is_full_memory(error):
            raise
        raise FullMemoryError(f"There is not enough memory. {advice} torch reports: {error}") from error
