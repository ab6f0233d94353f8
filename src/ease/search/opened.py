"""The models of the page: each is loaded when it is first chosen, and searched while its index is being built."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from ease.errors import EaseError
from ease.io.suggestions import suggest
from ease.search.engine import Opening, Search
from ease.search.limits import EXACT_LIMIT, MEMORY
from ease.search.sources import Sources

logger = logging.getLogger(__name__)

PATIENCE = 8.0
"""Seconds that a request waits for the first part of an index."""


class _Closed(Exception):
    """Raised in a thread to end it after the current block of an index."""


class OpenModel:
    """A model that a thread of its own loads and builds the index of."""

    def __init__(self, sources: Sources, name: str, memory: int, exact_limit: int) -> None:
        """Start the thread."""
        self.name = name
        self.search: Search | None = None
        self.error = ""
        self.progress = (0, 0)
        """Embedded sentences and their number; the latter is 0 until it is known"""
        self._searchable, self._closing = threading.Event(), threading.Event()
        arguments = (sources, memory, exact_limit)
        self._thread = threading.Thread(target=self._open, args=arguments, daemon=True, name=f"open {name}")
        self._thread.start()

    def wait(self, seconds: float = PATIENCE) -> None:
        """Wait until the model can be searched with, or has failed, but not longer than some seconds."""
        self._searchable.wait(seconds)

    def close(self) -> None:
        """Let the thread end; what it has not embedded is left to the next start."""
        self._closing.set()
        self._thread.join()

    @property
    def complete(self) -> bool:
        """Whether the index has all sentences, and the model its entities."""
        return not self._thread.is_alive()

    def _open(self, sources: Sources, memory: int, exact_limit: int) -> None:
        try:
            opening = Opening(sources, self.name)

            def report(done: int, total: int) -> None:
                if self._closing.is_set():
                    raise _Closed
                self.progress = (done, total)
                if self.search is None:
                    self.search = opening.search(memory)
                    self._searchable.set()

            opening.build(memory, exact_limit, report)
            self.search = opening.search(memory)  # Only a complete index has the means of sentences.
        except _Closed:
            pass
        except EaseError as error:
            self.error = str(error)
        except Exception as error:
            logger.exception("The model %s cannot be opened", self.name)
            self.error = f"The model {self.name!r} cannot be opened: {type(error).__name__}: {error}"
        finally:
            self._searchable.set()


class OpenModels:
    """The models that can be chosen, and those that were."""

    def __init__(
        self,
        sources: Sources,
        further: Sequence[str] = (),
        *,
        memory: int = MEMORY,
        exact_limit: int = EXACT_LIMIT,
    ) -> None:
        """Find the models; none is loaded.

        Args:
            sources: The tables and models of the setting.
            further: Folders or hub names of further encoders.
            memory: Memory limit in megabytes, as in `open_search`.
            exact_limit: As in `open_search`.

        Raises:
            EaseError: If there are no sentences, no model, or a further one does not exist.
        """
        sources.sentences()
        self.names = [*sources.models(), *(sources.model(name).name for name in further)]
        if not self.names:
            sources.model("ease_plus")  # raises the error with what to do
        self._sources, self._limits = sources, (memory, exact_limit)
        self._open: dict[str, OpenModel] = {}
        self._lock = threading.Lock()

    def choose(self, name: str) -> OpenModel:
        """Return a model, which is loaded in the background if it was not chosen before; failed ones are tried again.

        Raises:
            EaseError: If the name is unknown.
        """
        if name not in self.names:
            raise EaseError(f"Unknown model {name!r}: {suggest(name, self.names)}")
        with self._lock:
            if name not in self._open or self._open[name].error:
                self._open[name] = OpenModel(self._sources, name, *self._limits)
            return self._open[name]

    def close(self) -> None:
        """End the work of all models; torch aborts the interpreter's exit while another thread computes."""
        for model in self._open.values():
            model.close()
