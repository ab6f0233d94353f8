"""Progress of long loops: a bar in a terminal; elsewhere, as in a log file, a line after some seconds of silence."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from tqdm import tqdm

logger = logging.getLogger(__name__)

SILENCE = 20.0
"""Seconds without a line in the log after which `report_progress` writes one"""

_loops: list[ProgressBar] = []
"""Loops in progress in this process, the outermost first"""


class ProgressBar:
    """Counts what a loop has done, with tqdm's bar in a terminal.

    Iterate over it, or call `update` within a `with` block. Without a title `desc`, nothing is shown. `options` are
    further ones of tqdm.
    """

    def __init__(
        self,
        iterable: Iterable[Any] = (),
        *,
        desc: str,
        unit: str,
        total: int | None = None,
        initial: int = 0,
        **options: Any,
    ) -> None:
        if total is None and isinstance(iterable, Sized) and len(iterable):
            total = len(iterable)
        self._iterable = iterable
        self._name = desc
        self._unit = unit
        self._total = total
        self.done = initial
        # Of tqdm, None shows the bar in a terminal alone.
        disable = None
        if not desc:
            disable = True
        options = {"leave": False, "disable": disable, **options}
        self._bar = tqdm(total=total, initial=initial, desc=desc, unit=unit, **options)

    def open(self) -> None:
        """Begin the loop."""
        if self._name:
            _loops.append(self)

    def close(self) -> None:
        """End the loop."""
        if self in _loops:
            _loops.remove(self)
        self._bar.close()

    def __enter__(self) -> ProgressBar:
        """Begin the loop."""
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        """End the loop."""
        self.close()

    def __iter__(self) -> Iterator[Any]:
        """Yield the items, and count each when the next one is requested."""
        with self:
            for item in self._iterable:
                yield item
                self.update()

    def update(self, count: int = 1, total: int | None = None) -> None:
        """Count what was done; change the total if it is known only now."""
        self.done += count
        if total is not None:
            self._total = self._bar.total = total
        self._bar.update(count)

    def show(self, values: Mapping[str, str]) -> None:
        """Show values beside the bar."""
        self._bar.set_postfix(values, refresh=False)

    def __str__(self) -> str:
        """Return what is done, of how much: `tatoeba: 34 of 112 subsets`."""
        numbers = [self.done]
        if self._total is not None:
            numbers.append(self._total)
        if self._unit == "B":
            texts = [f"{number / 1e6:,.0f}" for number in numbers]
            unit = "MB"
        else:
            texts = [f"{number:,}" for number in numbers]
            unit = f"{self._unit}s"
        return f"{self._name}: {' of '.join(texts)} {unit}"


class _LastLine(logging.Handler):
    """Remembers when a line was logged."""

    def __init__(self) -> None:
        super().__init__()
        self.time = time.monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        self.time = time.monotonic()


@contextmanager
def report_progress(activity: Callable[[], str]) -> Iterator[None]:
    """During the block, log what is done, of how much, whenever nothing was logged for some seconds.

    Args:
        activity: Returns what is done at a larger scale than that of a loop, such as a node of a pipeline.
    """
    last_line = _LastLine()
    ended = Event()

    def report() -> None:
        while not ended.wait(max(0.01, last_line.time + SILENCE - time.monotonic())):
            if time.monotonic() - last_line.time < SILENCE:
                continue
            if _loops and sys.stderr.isatty():
                # A bar is shown.
                last_line.time = time.monotonic()
                continue
            logger.info("%s", "; ".join([activity(), *map(str, _loops)]))

    logging.getLogger().addHandler(last_line)
    # Python's threads need no end of their own: the process may end by an error before the block does.
    thread = Thread(target=report, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        logging.getLogger().removeHandler(last_line)
