"""Collect the sentences of pages in columns, and write them as the table `sentences`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ease.wikimedia.dumps.table_writer import CHARACTERS_PER_GROUP, ROWS_PER_GROUP, TableWriter
from ease.wikimedia.wikitext.article import SentenceColumns

_LINK_FIELDS = [("start", pa.int32()), ("end", pa.int32()), ("target", pa.string())]
LINKS = pa.list_(pa.struct(_LINK_FIELDS))
SENTENCES = pa.schema(
    [
        ("language", pa.string()),
        ("page_id", pa.int64()),
        ("page_title", pa.string()),
        ("revision_id", pa.int64()),
        ("sentence_index", pa.int32()),
        ("text", pa.string()),
        ("links", LINKS),
    ]
)
"""Offsets of `links` are characters from the start of `text`."""


class SentencePage(NamedTuple):
    """A page whose sentences are written."""

    page_id: int
    title: str
    revision_id: int


class SentenceTable:
    """Sentences of one language, which `flush` writes; without a Python object for each row or link."""

    def __init__(self, writer: TableWriter, language: str) -> None:
        """Prepare to write with a writer of the schema `SENTENCES`."""
        self._writer = writer
        self._language = language
        self._clear()

    def _clear(self) -> None:
        self._pages: list[SentencePage] = []
        self._rows: list[int] = []
        """Sentences of each page."""
        self._links: list[int] = []
        """Links of each page."""
        self._columns = SentenceColumns([], [], [], [], [], [])
        self._characters = 0

    def append(self, page: SentencePage, columns: SentenceColumns) -> None:
        """Add the sentences of a page."""
        self._pages.append(page)
        self._rows.append(len(columns.texts))
        self._links.append(len(columns.link_targets))
        both: Iterable[tuple[list[Any], list[Any]]] = zip(self._columns, columns, strict=True)
        for own, added in both:
            own += added
        self._characters += sum(map(len, columns.texts))
        if len(self._columns.texts) >= ROWS_PER_GROUP or self._characters >= CHARACTERS_PER_GROUP:
            self.flush()

    def flush(self) -> None:
        """Write the collected sentences."""
        if not self._pages:
            return
        rows = np.array(self._rows)
        first_rows = np.cumsum(rows) - rows
        pages = np.repeat(np.arange(len(rows)), rows)
        ids, titles, revisions = zip(*self._pages, strict=True)
        arrays = [
            pa.repeat(pa.scalar(self._language, pa.string()), len(pages)),
            pa.array(np.array(ids, np.int64)[pages]),
            pa.array(titles, pa.string()).take(pa.array(pages)),
            pa.array(np.array(revisions, np.int64)[pages]),
            pa.array((np.arange(len(pages)) - first_rows[pages]).astype(np.int32)),
            pa.array(self._columns.texts, pa.string()),
            self._link_array(first_rows, len(pages)),
        ]
        self._writer.write(pa.RecordBatch.from_arrays(arrays, schema=SENTENCES))
        self._clear()

    def _link_array(self, first_rows: np.ndarray, rows: int) -> pa.Array:
        columns = self._columns
        sentences = np.array(columns.link_sentences, np.int64) + np.repeat(first_rows, self._links)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(sentences, minlength=rows))])
        values = (columns.link_starts, columns.link_ends, columns.link_targets)
        fields = list(LINKS.value_type)
        arrays = [pa.array(value, field.type) for value, field in zip(values, fields, strict=True)]
        return pa.ListArray.from_arrays(
            pa.array(offsets.astype(np.int32)), pa.StructArray.from_arrays(arrays, fields=fields), type=LINKS
        )
