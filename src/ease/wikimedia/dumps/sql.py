"""Items of pages in a MySQL or MariaDB dump of the table page_props, streamed in bounded memory.

Rows are `(page,'wikibase_item','Q42',NULL)`, several on one line or each on its own. Line breaks and quotes inside
values are escaped, so no line ends inside a row, and the pattern of a row matches no text.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

from ease.errors import EaseError
from ease.wikimedia.dumps.streams import LineChunks

logger = logging.getLogger(__name__)

_CHUNK_BYTES = 1 << 20
_BEGINNING = rb"\((\d{1,18}),(?:_binary )?'wikibase_item',"
_ROW = re.compile(_BEGINNING + rb"(?:_binary )?'[Qq]([1-9]\d{0,17})'(?:,(?:NULL|-?[0-9.][0-9.eE+-]*+))?\)")
_ANY_ROW = re.compile(_BEGINNING)
_TABLE = re.compile(rb"(?:CREATE TABLE|INTO) (?:IF NOT EXISTS )?`?page_props`?")
_OPENS_DUMP = re.compile(rb"-- (?:MySQL|MariaDB) dump")
_ENDS_DUMP = b"-- Dump completed"


class PageItemReader:
    """The items of a wiki's pages.

    Attributes:
        broken_rows: After the iteration, the number of rows that should have an item and cannot be read.
        truncated: After the iteration, whether the file ends inside its compressed data, or lacks the line that ends a
            dump.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.broken_rows, self.truncated = path, 0, False

    def __iter__(self) -> Iterator[list[tuple[bytes, bytes]]]:
        """Yield the pages and the numbers of their items, of some lines each time.

        Raises EaseError if the file is missing, broken or not a dump of the table.
        """
        chunks = LineChunks(self.path, _CHUNK_BYTES)
        is_table = is_complete = False
        for _, chunk in chunks:
            is_table = is_table or _TABLE.search(chunk) is not None
            is_complete = is_complete or _ENDS_DUMP in chunk
            found = _ROW.findall(chunk)
            self.broken_rows += sum(1 for _ in _ANY_ROW.finditer(chunk)) - len(found)
            yield found
        yield _ROW.findall(chunks.rest)  # whose last row may be cut
        if not is_table and not _TABLE.search(chunks.rest):
            raise EaseError(
                f"{self.path} is not a dump of a table `page_props`: get {{wiki}}-{{date}}-page_props.sql.gz."
            )
        if self.broken_rows:
            logger.warning("%s: %d rows cannot be read", self.path, self.broken_rows)
        self.truncated = chunks.truncated or (_OPENS_DUMP.match(chunks.head) is not None and not is_complete)
