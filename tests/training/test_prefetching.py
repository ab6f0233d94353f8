"""Batches made ahead are the same, in the same order, and their errors come in their turn."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from itertools import count

import pytest
import torch

from ease.training.batches import make_ahead

CPU = torch.device("cpu")


def test_batches_keep_their_order() -> None:
    assert list(make_ahead(iter(range(100)), CPU)) == list(range(100))
    assert list(make_ahead(iter([None, 0, None]), CPU)) == [None, 0, None]


def test_the_next_batches_are_made_while_one_is_used() -> None:
    made = [threading.Event() for _ in range(3)]

    def make() -> Generator[int, None, None]:
        for number in count():
            if number < len(made):
                made[number].set()
            yield number

    batches = make_ahead(make(), CPU, ahead=2)
    assert next(batches) == 0
    assert made[2].wait(timeout=10)
    batches.close()
    assert not any(thread.name.startswith("batches") for thread in threading.enumerate())


def test_an_error_comes_after_the_batches_before_it() -> None:
    def make() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    batches = make_ahead(make(), CPU)
    assert next(batches) == 1
    with pytest.raises(ValueError, match="no more"):
        next(batches)
