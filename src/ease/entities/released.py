"""Pairs in the format that the authors of EASE released, read into the same tables as dumps.

A record of `text`, `positive_entity` and `negative_entity` becomes a page with one sentence, which links to the
positive entity. The page's number is a type, whose members are the entities in the record's list of negatives.
"""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import IO, Annotated, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import AfterValidator, BaseModel, ValidationError, model_validator

from ease.entities.hashing import title_number
from ease.errors import EaseError
from ease.io.text_tables import open_decompressed
from ease.wikimedia.dumps.parts import Counts, TableWriter, make_part, part_name
from ease.wikimedia.dumps.streams import content_digest
from ease.wikimedia.wikidata import ENTITY_TYPES, SITELINKS, SITELINKS_FILE, TYPES_FILE
from ease.wikimedia.wikipedia import PAGES, PAGES_FILE, REDIRECTS, REDIRECTS_FILE, SENTENCES, SENTENCES_FILE

RELEASED_PARTS_VERSION = 2
"""Raise it if released pairs now give other tables: parts of another version are read again."""
UNDETERMINED = "und"
"""ISO 639's code for a text in an unknown language"""

_CHUNK = 1 << 22
"""Characters read at a time"""
_LONGEST_RECORD = 1 << 24
"""Characters; JSON without the end of a record within them is broken."""
_BATCH = 1 << 14
"""Records in memory at a time."""
_BETWEEN = re.compile(r"[\s,]*")


def _in_utf8(text: str) -> str:
    """Return the text; raises UnicodeEncodeError, a ValueError, for lone surrogates."""
    text.encode()
    return text


def _with_spaces(text: str) -> str:
    """Return a title with spaces for its underscores; raises ValueError if it is blank."""
    title = text.replace("_", " ").strip()
    if not title:
        raise ValueError("a title is blank")
    return title


ReleasedText = Annotated[str, AfterValidator(_in_utf8)]
ReleasedTitle = Annotated[ReleasedText, AfterValidator(_with_spaces)]


class ReleasedRecord(BaseModel, strict=True):
    """A sentence, the title of its entity, and other titles, one of which is drawn as the hard negative."""

    text: ReleasedText
    positive_entity: ReleasedTitle
    negative_entity: list[ReleasedTitle]

    @model_validator(mode="after")
    def _other_titles(self) -> Self:
        """Keep the distinct titles that are not the positive entity's."""
        self.negative_entity = [title for title in dict.fromkeys(self.negative_entity) if title != self.positive_entity]
        if not self.negative_entity:
            raise ValueError("`negative_entity` has no title other than the positive entity's")
        return self


def find_released(source: str) -> list[Path]:
    """Return the file, or the files that a glob matches, sorted by name; raises EaseError if there is none."""
    if Path(source).is_file():
        return [Path(source)]
    files = sorted(Path(name) for name in glob.glob(source, recursive=True) if Path(name).is_file())
    if not files:
        raise EaseError(
            f"`pairs.released` {source} is not a file: give a file of released pairs, a glob of such files, or an "
            "https address (docs/own_data.md)."
        )
    return files


def ingest_released(files: Sequence[Path], language: str, folder: Path) -> tuple[Path, Counts]:
    """Read files of pairs in one pass and bounded memory, unless the same ones were read before.

    Args:
        files: JSON arrays or JSON lines, plain, gzip or bzip2.
        language: Language code of all sentences.
        folder: Folder that keeps parts from run to run.

    Returns:
        A folder with the tables `sentences`, `sitelinks` (titles, which may repeat) and `entity_types`, and empty
        tables `redirects` and `pages`; the numbers of pairs, and of records that were dropped for their blank text. A
        title's item is the hash of the title, negated.

    Raises:
        EaseError: With the file and the number of the first record that is broken or incomplete.
    """
    part = folder / "released" / part_name(RELEASED_PARTS_VERSION, language, *map(content_digest, files))
    return part, make_part(part, lambda new_part: _write_tables(files, language, new_part))


def _write_tables(files: Sequence[Path], language: str, folder: Path) -> Counts:
    """Write the tables of `ingest_released`, and return its counts."""
    records = chain.from_iterable(map(read_released, files))
    pages = 0
    blank = 0
    with (
        TableWriter(folder / SENTENCES_FILE, SENTENCES) as sentences,
        TableWriter(folder / SITELINKS_FILE, SITELINKS) as titles,
        TableWriter(folder / TYPES_FILE, ENTITY_TYPES) as lists,
    ):
        while batch := list(islice(records, _BATCH)):
            nonblank = [record for record in batch if record.text.strip()]
            blank += len(batch) - len(nonblank)
            if not nonblank:
                continue
            page_ids = range(pages + 1, pages + len(nonblank) + 1)
            pages += len(nonblank)
            sentences.write(_sentence_batch(nonblank, page_ids, language))
            # Titles repeat from batch to batch: all distinct titles of a release would not fit into bounded memory.
            positives = [record.positive_entity for record in nonblank]
            negatives = [record.negative_entity for record in nonblank]
            numbers = {title: title_number(title) for title in dict.fromkeys(chain(positives, *negatives))}
            titles.write(_batch(SITELINKS, numbers.values(), [language] * len(numbers), numbers))
            members = [numbers[title] for title in chain(*negatives)]
            list_ids = np.repeat(page_ids, [len(names) for names in negatives])
            lists.write(_batch(ENTITY_TYPES, members, list_ids))
    for file, schema in ((REDIRECTS_FILE, REDIRECTS), (PAGES_FILE, PAGES)):
        pq.write_table(schema.empty_table(), folder / file)
    if not pages:
        raise EaseError(f"{', '.join(map(str, files))}: all {blank} records have a blank `text`.")
    return {"pairs": pages, "blank": blank}


def _sentence_batch(records: Sequence[ReleasedRecord], page_ids: Sequence[int], language: str) -> pa.RecordBatch:
    """Return records as pages of one sentence, all of which is the link's text."""
    texts = [record.text for record in records]
    links = [[{"start": 0, "end": len(record.text), "target": record.positive_entity}] for record in records]
    # No wiki's title contains `#`, so no link leads to its own page, where it would be dropped.
    names = [f"#{number}" for number in page_ids]
    zeros = [0] * len(records)
    return _batch(SENTENCES, [language] * len(records), page_ids, names, zeros, zeros, texts, links, zeros)


def _batch(schema: pa.Schema, *columns: Iterable[Any]) -> pa.RecordBatch:
    """Return columns in the order of a schema as a batch."""
    values = {name: list(column) for name, column in zip(schema.names, columns, strict=True)}
    return pa.RecordBatch.from_pydict(values, schema)


def read_released(path: Path) -> Iterator[ReleasedRecord]:
    """Yield the records of a file; errors are those of `ingest_released`."""
    number = 0
    with (
        open_decompressed(path) as file,
        # Bytes that are not UTF-8 become lone surrogates, which are then found in their record.
        TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape") as text,
    ):
        try:
            for value in _iterate_values(text):
                record = ReleasedRecord.model_validate(value)
                number += 1
                yield record
        except (ValueError, RecursionError) as error:
            # Nested JSON that is too deep for the decoder is a RecursionError.
            reason: object = error
            if isinstance(error, ValidationError):
                fault = error.errors()[0]
                place = ".".join(map(str, fault["loc"])) or "a record"
                reason = f"`{place}`: {fault['msg']}, not {fault['input']!r:.60}"
            raise EaseError(
                f"{path}, record {number + 1}: {reason}; correct or remove the record, or fetch the file again."
            ) from None
    if not number:
        raise EaseError(
            f"{path} has no record: give a JSON array or JSON lines of {', '.join(ReleasedRecord.model_fields)}."
        )


def _iterate_values(file: IO[str]) -> Iterator[Any]:
    """Yield the values of a JSON array or of JSON lines, with a bounded part of the file in memory.

    Raises:
        ValueError: If the JSON is broken or ends early.
    """
    decoder = json.JSONDecoder()
    text = file.read(_CHUNK).lstrip()
    is_array = text.startswith("[")
    position = int(is_array)
    while True:
        position = _BETWEEN.match(text, position).end()  # type: ignore[union-attr]
        if is_array and text.startswith("]", position):
            if (text[position + 1 :] + file.read(_CHUNK)).strip():
                raise ValueError("the file goes on behind the end of the array")
            return
        try:
            value, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            # A value that the chunk cuts is an error like any other: try again with more text.
            more = ""
            if len(text) - position < _LONGEST_RECORD:
                more = file.read(_CHUNK)
            if more:
                text = text[position:] + more
                position = 0
                continue
            if position < len(text):
                raise ValueError(f"cut or broken JSON ({error.msg})") from None
            if is_array:
                raise ValueError("the file is cut: its array has no end") from None
            return
        yield value
