"""Pairs in the form in which the authors of EASE released theirs, read into the tables that dumps are parsed into.

A record of `text`, `positive_entity` and `negative_entity` becomes a page of one sentence that links to the positive
entity. The page's number is a type, whose members are the entities in the record's list of negatives.
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

RELEASED_PARTS_VERSION = 1
"""Raise it if released pairs now give other tables: parts of another version are read again."""
UNDETERMINED = "und"
"""ISO 639's code for a text whose language is not known."""

_CHUNK = 1 << 22
_LONGEST_RECORD = 1 << 24
"""Characters; more without the end of a record mean that the JSON is broken."""
_BATCH = 1 << 14
"""Records in memory at a time."""
_BETWEEN = re.compile(r"[\s,]*")


def _in_utf8(text: str) -> str:
    text.encode()  # raises UnicodeEncodeError, a ValueError, for lone surrogates
    return text


def _as_title(written: str) -> str:
    """Return a title with spaces for its underscores; raises ValueError if it is blank."""
    if title := written.replace("_", " ").strip():
        return title
    raise ValueError("a title is blank")


Text = Annotated[str, AfterValidator(_in_utf8)]
Title = Annotated[Text, AfterValidator(_as_title)]


class Record(BaseModel, strict=True):
    """A sentence, the title of its entity, and other titles, one of which is drawn as the hard negative."""

    text: Text
    positive_entity: Title
    negative_entity: list[Title]

    @model_validator(mode="after")
    def _other_titles(self) -> Self:
        """Keep the distinct titles that are not the positive entity's."""
        self.negative_entity = [title for title in dict.fromkeys(self.negative_entity) if title != self.positive_entity]
        if not self.negative_entity:
            raise ValueError("`negative_entity` has no title other than the positive entity's")
        return self


def find_released(source: str) -> list[Path]:
    """Return the file, or the files of a glob in the order of their names; raises EaseError if there is none."""
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
        language: Code for all sentences.
        folder: Where parts are kept from run to run.

    Returns:
        A folder with files of `sentences`, `sitelinks` (titles, which may repeat) and `entity_types`, and empty ones
        of `redirects` and `pages`; the numbers of pairs, and of records that were dropped for their blank text. A
        title's item is minus the hash of the title.

    Raises:
        EaseError: With the file and the number of the first record that is broken or incomplete.
    """
    part = folder / "released" / part_name(RELEASED_PARTS_VERSION, language, *map(content_digest, files))
    return part, make_part(part, lambda made: _write_tables(files, language, made))


def _write_tables(files: Sequence[Path], language: str, folder: Path) -> Counts:
    records = chain.from_iterable(map(read_released, files))
    pages = blank = 0
    with (
        TableWriter(folder / SENTENCES_FILE, SENTENCES) as sentences,
        TableWriter(folder / SITELINKS_FILE, SITELINKS) as titles,
        TableWriter(folder / TYPES_FILE, ENTITY_TYPES) as lists,
    ):
        while found := list(islice(records, _BATCH)):
            batch = [record for record in found if record.text.strip()]
            blank += len(found) - len(batch)
            if not batch:
                continue
            page = np.arange(pages + 1, pages + len(batch) + 1)
            pages += len(batch)
            texts = [record.text for record in batch]
            positives = [record.positive_entity for record in batch]
            negatives = [record.negative_entity for record in batch]
            numbers = {title: title_number(title) for title in dict.fromkeys(chain(positives, *negatives))}
            targets = zip(texts, positives, strict=True)
            links = [[{"start": 0, "end": len(text), "target": title}] for text, title in targets]
            here, zeros, names = [language] * len(page), 0 * page, [f"#{number}" for number in page]
            sentences.write(_batch(SENTENCES, here, page, names, zeros, zeros, texts, links))
            titles.write(_batch(SITELINKS, numbers.values(), [language] * len(numbers), numbers))
            members = [numbers[title] for title in chain(*negatives)]
            lists.write(_batch(ENTITY_TYPES, members, page.repeat([len(own) for own in negatives])))
    for file, schema in ((REDIRECTS_FILE, REDIRECTS), (PAGES_FILE, PAGES)):
        pq.write_table(schema.empty_table(), folder / file)
    if not pages:
        raise EaseError(f"{', '.join(map(str, files))}: all {blank} records have a blank `text`.")
    return {"pairs": pages, "blank": blank}


def _batch(schema: pa.Schema, *columns: Iterable[Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {name: list(column) for name, column in zip(schema.names, columns, strict=True)}, schema
    )


def read_released(path: Path) -> Iterator[Record]:
    """Yield the records of a file; errors are those of `ingest_released`."""
    number = 0
    with (
        open_decompressed(path) as file,
        # Bytes that are not UTF-8 become lone surrogates, which are then found in their record.
        TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape") as text,
    ):
        try:
            for value in _iterate_values(text):
                record = Record.model_validate(value)
                number += 1
                yield record
        except (ValueError, RecursionError) as error:
            reason: object = error
            if isinstance(error, ValidationError):
                fault = error.errors()[0]
                place = ".".join(map(str, fault["loc"])) or "a record"
                reason = f"`{place}`: {fault['msg']}, not {fault['input']!r:.60}"
            raise EaseError(
                f"{path}, record {number + 1}: {reason}; correct or remove the record, or fetch the file again."
            ) from None
    if not number:
        raise EaseError(f"{path} has no record: give a JSON array or JSON lines of {', '.join(Record.model_fields)}.")


def _iterate_values(file: IO[str]) -> Iterator[Any]:
    """Yield the values of a JSON array or of JSON lines, with a bounded part of the file in memory.

    Raises:
        ValueError: If the JSON is broken or ends early.
    """
    decoder, rest = json.JSONDecoder(), file.read(_CHUNK).lstrip()
    at = is_array = int(rest.startswith("["))
    while True:
        at = _BETWEEN.match(rest, at).end()  # type: ignore[union-attr]
        if is_array and rest.startswith("]", at):
            if (rest[at + 1 :] + file.read(_CHUNK)).strip():
                raise ValueError("the file goes on behind the end of the array")
            return
        try:
            value, at = decoder.raw_decode(rest, at)
        except json.JSONDecodeError as error:
            more = file.read(_CHUNK) if len(rest) - at < _LONGEST_RECORD else ""
            if more:
                rest, at = rest[at:] + more, 0
            elif at < len(rest):
                raise ValueError(f"cut or broken JSON ({error.msg})") from None
            elif is_array:
                raise ValueError("the file is cut: its array has no end") from None
            else:
                return
        else:
            yield value
