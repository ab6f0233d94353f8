"""Write MewsC-16: tables and the paper's two text files for each language, and the data set card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from jinja2 import StrictUndefined, Template

from ease.io.data_files import read_data_file
from ease.wikimedia.wikinews.licences import Licence, licence_history, licence_in_force

READ = pa.schema(
    [
        ("sentence", pa.string()),
        ("category", pa.string()),
        ("page_id", pa.int64()),
        ("title", pa.string()),
        ("revision_id", pa.int64()),
        ("revised", pa.date32()),
        ("date", pa.date32()),
        ("dump_date", pa.string()),
    ]
)
"""Columns that are read from a dump.

`category` is the topic in English; `revised` is the day of the last revision; `date` is the day in the article's own
date line, or null; `dump_date` is YYYYMMDD, or null if unknown.
"""

NEWS = READ.append(pa.field("licence", pa.string()))
"""Columns of the data set; `licence` is the hub's name of it, or `unknown`."""


class NewsSource(NamedTuple):
    """Name of the texts' source, their licence (None: by language and revision), and the attribution."""

    name: str
    licence: str | None
    attribution: str


WIKINEWS = NewsSource(**read_data_file("ease.wikimedia.wikinews", "source.yml"))


class Written(NamedTuple):
    """Pages by topic in a language's files, dropped small topics, and rows by licence."""

    classes: dict[str, int]
    dropped: dict[str, int]
    licences: dict[str, int]


def read_parts(parts: Sequence[Path]) -> tuple[pa.Table, int]:
    """Return the rows of some parts sorted by page id, and the number of repeated pages.

    If two dump files have a page, the first file's is kept. One language's rows are held in memory as Arrow columns.
    """
    found = pa.concat_tables([READ.empty_table(), *(pq.read_table(part, schema=READ) for part in parts)])
    _, first = np.unique(found["page_id"].to_numpy(), return_index=True)
    return found.take(pa.array(first)), found.num_rows - len(first)


def with_licences(table: pa.Table, language: str, source: NewsSource) -> pa.Table:
    """Add the licence of each row."""
    if source.licence is not None:
        licences = [source.licence] * table.num_rows
    else:
        history = licence_history(language)
        licences = [licence_in_force(history, day) for day in table["revised"].to_pylist()]
    return table.append_column(NEWS.field("licence"), pa.array(licences, pa.string()))


def without_small_classes(table: pa.Table, min_class_size: int) -> tuple[pa.Table, dict[str, int]]:
    """Drop topics with too few rows, and return their sizes."""
    dropped = {name: size for name, size in _sizes(table, "category").items() if size < min_class_size}
    kept = pc.invert(pc.is_in(table["category"], pa.array(dropped, pa.string())))
    return table.filter(kept), dropped


def write_language(folder: Path, language: str, table: pa.Table, dropped: dict[str, int]) -> Written:
    """Write the files of a language; no files if nothing is left."""
    if table.num_rows:
        pq.write_table(table, folder / f"{language}.parquet", compression="zstd")
        _write_lines(folder / f"{language}_sentences.txt", table["sentence"])
        _write_lines(folder / f"{language}_categories.txt", table["category"])
    return Written(_sizes(table, "category"), dropped, _sizes(table, "licence"))


def _sizes(table: pa.Table, column: str) -> dict[str, int]:
    """Return the numbers of rows by value, sorted."""
    return dict(sorted((row["values"], row["counts"]) for row in table[column].value_counts().to_pylist()))


def _write_lines(path: Path, column: pa.ChunkedArray) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for chunk in column.chunks:
            file.writelines(f"{line}\n" for line in chunk.to_pylist())


def write_card(
    folder: Path,
    counts: Mapping[str, Mapping[str, Any]],
    min_class_size: int,
    source: NewsSource,
    edition: str,
) -> None:
    """Write README.md: the hub's metadata, then content, method, statistics, sources and attribution."""
    written = {language: found for language, found in sorted(counts.items()) if found["sentences"]}
    card = Template(
        files(__package__).joinpath("card.md.j2").read_text(encoding="utf-8"),
        trim_blocks=True,
        undefined=StrictUndefined,
    ).render(
        counts=written,
        topics=sorted({topic for found in written.values() for topic in found["classes"]}),
        removed=sorted({reason for found in written.values() for reason in found["removed"]}),
        licences=sorted({licence for found in written.values() for licence in found["licences"]}),
        history=_histories(written) if source.licence is None else {},
        min_class_size=min_class_size,
        source=source,
        edition=edition,
    )
    (folder / "README.md").write_text(f"{card}\n", encoding="utf-8")


def _histories(languages: Sequence[str] | Mapping[str, Any]) -> dict[str, list[Licence]]:
    """Return the licences of each language."""
    return {language: licence_history(language) for language in languages}
